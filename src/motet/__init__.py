"""Motet trains teams of language-model roles with reinforcement learning.

Importing it is cheap: torch is loaded when something needs it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from motet.api import train
    from motet.errors import MotetError
    from motet.types import Message, Outcome, Prompt, Reward, Sampling
    from motet.workflows.base import Workflow

_HOMES = {
    "train": "motet.api",
    "MotetError": "motet.errors",
    "Message": "motet.types",
    "Outcome": "motet.types",
    "Prompt": "motet.types",
    "Reward": "motet.types",
    "Sampling": "motet.types",
    "Workflow": "motet.workflows.base",
}

__all__ = ["Message", "MotetError", "Outcome", "Prompt", "Reward", "Sampling", "Workflow", "train"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'motet' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
