"""Settings of a run: recipes, overrides, checks. Imports no torch."""

from motet.config.load import Loaded, load, nearest, recipes
from motet.config.marks import Marked, parse_yaml
from motet.config.presets import PRESETS
from motet.config.redact import redact
from motet.config.resolve import resolve, seats, settings_hash, trainable_policies
from motet.config.settings import Settings

__all__ = [
    "PRESETS",
    "Loaded",
    "Marked",
    "Settings",
    "load",
    "nearest",
    "parse_yaml",
    "recipes",
    "redact",
    "resolve",
    "seats",
    "settings_hash",
    "trainable_policies",
]
