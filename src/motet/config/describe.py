"""Every key of a recipe as a table: what it is called, its default, what it means. docs/recipes.md holds this text."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from motet.config.load import section_of
from motet.config.settings import Settings


def key_table() -> str:
    """A Markdown table of all keys, in the order of `Settings`; `<name>` and `<n>` stand for a name and an index."""
    lines = ["| key | default | meaning |", "|---|---|---|"]
    _describe(Settings, "", lines)
    return "\n".join(lines) + "\n"


def _describe(section: type[BaseModel], prefix: str, lines: list[str]) -> None:
    for name, field in section.model_fields.items():
        inner = section_of(field.annotation)
        lines.append(f"| `{prefix}{name}` | {_default(field)} | {_values(field)}{field.description} |")
        if isinstance(inner, tuple):
            # `policy` and `role` state the keys of one policy and one role; `policies` and `roles` hold the same
            if name == "tasks":
                _describe(inner[0], f"{prefix}{name}.<n>.", lines)
        elif inner is not None and not (name == "eval" and prefix):
            _describe(inner, f"{prefix}{name}.", lines)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value: Any = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(value, BaseModel):
        return ""
    return "empty" if value is None or value == "" else f"`{json.dumps(value)}`".replace('"', "")


def _values(field: FieldInfo) -> str:
    text = str(field.annotation)
    if "Literal[" not in text or "dict" in text:
        return ""
    inside = text[text.index("Literal[") + len("Literal[") :].partition("]")[0]
    return inside.replace("'", "").replace(", ", " \\| ") + ". "
