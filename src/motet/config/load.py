"""From a recipe (name, file or mapping) and overrides to checked `Settings`, with the place of every key kept."""

from __future__ import annotations

import difflib
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path as FilePath
from typing import Any

from pydantic import BaseModel, ValidationError

from motet.config.marks import Marked, Path, apply_overrides, parse_yaml
from motet.config.presets import apply_preset
from motet.config.settings import Settings
from motet.errors import ConfigError


@dataclass(frozen=True)
class Loaded:
    """Valid settings and where each key was written."""

    settings: Settings
    marked: Marked = field(default_factory=lambda: Marked({}))


def nearest(name: str, known: Iterable[str]) -> str:
    """The way out for a name that is not known: the nearest one that is, and the whole list.

    >>> nearest("estimater", ["estimator", "alpha"])
    "did you mean 'estimator'? Known: alpha, estimator"
    """
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return (f"did you mean '{close[0]}'? " if close else "") + "Known: " + (", ".join(names) or "none")


def recipes() -> dict[str, str]:
    """Names of the recipes that come with the package, each with its one-line description."""
    found = {}
    for entry in resources.files("motet").joinpath("recipes").iterdir():
        if entry.name.endswith(".yaml"):
            marked = parse_yaml(entry.read_text(encoding="utf-8"), entry.name)
            found[entry.name.removesuffix(".yaml")] = str(marked.data.get("description", ""))
    return dict(sorted(found.items()))


def read_recipe(recipe: str) -> Marked:
    """The marked text of a recipe, by file or by name. The default of `name` is that of the file."""
    path = FilePath(recipe)
    if path.suffix in (".yaml", ".yml"):
        if not path.is_file():
            raise ConfigError(
                f"there is no recipe file '{recipe}'", fix="give the path of a YAML file, or a name of `motet recipes`"
            )
        try:
            text, source = path.read_text(encoding="utf-8"), str(path)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"the recipe cannot be read: {error}", where={"file": path}, fix="save it as UTF-8"
            ) from error
    else:
        entry = resources.files("motet").joinpath("recipes", f"{recipe}.yaml")
        if not entry.is_file():
            raise ConfigError(f"there is no recipe '{recipe}'", fix=nearest(recipe, recipes()))
        text, source = entry.read_text(encoding="utf-8"), f"{recipe}.yaml"
    marked = parse_yaml(text, source)
    marked.data.setdefault("name", FilePath(recipe).stem)
    return marked


def load(recipe: str | Mapping[str, Any] | Marked, overrides: Iterable[str] = ()) -> Loaded:
    """Settings of a recipe with `key=value` overrides applied. Raises `ConfigError`; loads no model.

    >>> base = {"tasks": [{"name": "plan_path"}], "workflow": {"name": "planner_executor"}}
    >>> load(base, ["credit.alpha=0.7"]).settings.credit.alpha
    0.7
    """
    if isinstance(recipe, Marked):
        marked = recipe
    elif isinstance(recipe, str):
        marked = read_recipe(recipe)
    else:
        marked = Marked({**recipe})
    if marked.data.get("preset"):
        apply_preset(marked, marked.data["preset"], over=False)
    for override in overrides:
        apply_overrides(marked, [override])
        if override.partition("=")[0].strip() == "preset" and marked.data["preset"]:
            apply_preset(marked, marked.data["preset"], over=True)
    try:
        settings = Settings.model_validate(marked.data)
    except ValidationError as error:
        raise _explain(error, marked) from error
    return Loaded(settings, marked)


def _explain(error: ValidationError, marked: Marked) -> ConfigError:
    """One ConfigError that names every fault with its place; unknown keys come first, they explain the others."""
    faults = sorted(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
    first = _fault(faults[0]["type"], _data_path(faults[0]["loc"], marked.data), faults[0]["msg"], marked)
    others = {str(_fault(f["type"], _data_path(f["loc"], marked.data), f["msg"], marked).what) for f in faults[1:]} - {
        first.what
    }
    fix = first.fix + (f" (also: {'; '.join(sorted(others))})" if others else "")
    return ConfigError(first.what, where=first.where, fix=fix)


def _data_path(loc: tuple[Any, ...], data: Any) -> Path:
    """pydantic names the branch of a union in `loc`; keep only what exists in the data, and the last part."""
    path: list[str | int] = []
    at = data
    for part in loc:
        if (isinstance(at, dict) and part in at) or (isinstance(at, list) and isinstance(part, int) and part < len(at)):
            path.append(part)
            at = at[part]
        elif isinstance(at, dict) and part == loc[-1]:
            path.append(part)
    return tuple(path)


def _fault(kind: str, path: Path, message: str, marked: Marked) -> ConfigError:
    key = ".".join(map(str, path))
    where: dict[str, object] = {"line": marked.place(path)}
    if kind == "extra_forbidden":
        section = section_at(path[:-1])
        known = section.model_fields if section else ()
        return ConfigError(f"unknown key '{key}'", where=where, fix=nearest(str(path[-1]), known))
    if kind == "missing":
        return ConfigError(f"key '{key}' is missing", where=where, fix="add it")
    if kind == "literal_error":
        return ConfigError(f"'{key}' has no such value", where=where, fix=f"{message[0].lower()}{message[1:]}")
    message = message[0].lower() + message[1:]
    return ConfigError(f"'{key}': {message}", where=where, fix=_meaning(path))


def _meaning(path: Path) -> str:
    section = section_at(path[:-1])
    if section is None or path[-1] not in section.model_fields:
        return "see docs/recipes.md"
    return f"the key means: {section.model_fields[str(path[-1])].description}"


def section_at(path: Path) -> type[BaseModel] | None:
    """The class of settings that lives at `path`, or None for a plain value."""
    at: Any = Settings
    for part in path:
        if isinstance(at, type) and issubclass(at, BaseModel):
            if part not in at.model_fields:
                return None
            at = section_of(at.model_fields[str(part)].annotation)
        # below a list or a mapping of sections the part is an index or a name: stay at the element
        elif isinstance(at, tuple):
            at = at[0]
        else:
            return None
    if isinstance(at, tuple):
        return None
    return at


def section_of(annotation: Any) -> Any:
    """A section, `(section,)` for a list or mapping of sections, or None."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    for argument in arguments:
        found = section_of(argument)
        if found is not None:
            return found if origin in (typing.Union, types.UnionType) else (found,)
    return None
