"""The errors a user can meet. Each says what happened, where, and what to do."""

from __future__ import annotations

import re

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def visible(text: str) -> str:
    """Text that is safe to show: what a terminal would obey or hide (escapes, bells, text direction, halves of a
    character) is spelt out; line breaks and tabs stay.

    >>> print(visible("a\\x1b[2J\\u202eb"))
    a\\x1b[2J\\u202eb
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class MotetError(Exception):
    """Base of every error this package raises on purpose.

    `where` holds the place (task, role, turn, key, line ...) and `fix` the way out; both are part of the text.

    >>> str(MotetError("reward is 1.3", where={"task": "t-7", "turn": 2}, fix="return a value in [0, 1]"))
    'reward is 1.3 [task=t-7 turn=2]. To fix it: return a value in [0, 1]'
    """

    def __init__(self, what: str, *, where: dict[str, object] | None = None, fix: str = "") -> None:
        self.what, self.where, self.fix = what, dict(where or {}), fix
        text = what
        if self.where:
            text += " [" + " ".join(f"{k}={v}" for k, v in self.where.items()) + "]"
        if fix:
            text += f". To fix it: {fix}"
        super().__init__(visible(text))


class ConfigError(MotetError):
    """A recipe or a setting is wrong. Raised before any model is loaded."""


class TaskError(MotetError):
    """A task or task set is missing, malformed or failed."""


class WorkflowError(MotetError):
    """A workflow raised, or used its cast in a way that has no meaning."""


class RewardError(MotetError):
    """A reward is not a number in [0, 1], a score raised, or a score did not return in time."""


class EngineError(MotetError):
    """A model, tokenizer or endpoint cannot do what was asked."""


class SandboxError(MotetError):
    """The sandbox itself cannot start, or failed while it ran a program. Never a verdict on the program."""


class ReplayError(MotetError):
    """A replayed workflow asked something else than the record says."""


class CreditError(MotetError):
    """A group breaks its contract, or an estimator was fed values outside its domain."""


class UpdateError(MotetError):
    """An update would have put a non-finite number into the weights, or its rows contradict its policy."""


class CheckpointError(MotetError):
    """A checkpoint is missing, incomplete or of another run."""
