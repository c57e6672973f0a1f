"""The nouns: frozen records that flow from task to update.

    Task -> Workflow.run -> Episode(Call(Candidate ...) ...) -> Row -> update

No torch, no I/O. A record never changes after it was made; `tree`, `group` and `row` are derived from it.
"""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from motet.errors import RewardError

SCHEMA = 1
"""Version of every file a run leaves behind."""

Phase = Literal["train", "eval"]
Finish = Literal["eos", "stop", "length"]


@runtime_checkable
class Spoken(Protocol):
    """What a `Message` may hold in place of text: something that was sampled.

    A reader with the same tokenizer gets `token_ids`, every other reader gets `text`.
    """

    @property
    def text(self) -> str: ...
    @property
    def token_ids(self) -> tuple[int, ...]: ...
    @property
    def tokenizer_id(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message. `content` is text, or an earlier call (`Spoken`).

    >>> Message("user", "Where is the goal?").content
    'Where is the goal?'
    """

    role: Literal["system", "user", "assistant"]
    content: str | Spoken


class Prompt:
    """A named prompt with values; the dialect of the policy that reads decides its words.

    The name is looked up in `Workflow.prompts`: name -> {dialect -> function(values) -> str | list[Message]}.

    >>> Prompt("greet", who="Ann").values["who"]
    'Ann'
    """

    __slots__ = ("name", "values")

    def __init__(self, name: str, /, **values: Any) -> None:
        self.name, self.values = name, values

    def __repr__(self) -> str:
        return f"Prompt({self.name!r}, {', '.join(self.values)})"


Observation = str | Sequence[Message] | Prompt


def _checked(name: str, value: float | None) -> float | None:
    if value is None:
        return None
    number = _number(value)
    if not math.isfinite(number) or not 0.0 <= number <= 1.0:
        raise RewardError(
            f"{name} reward is {reprlib.repr(value)}",
            fix="return a finite number in [0, 1], or None where there is none",
        )
    return number


def _number(value: Any) -> float:
    """The value of anything that is one number (bool, int, a scalar of numpy or torch ...), NaN for anything else."""
    is_scalar = isinstance(value, numbers.Real) or (getattr(value, "ndim", None) == 0 and hasattr(value, "__float__"))
    try:
        return float(value) if is_scalar else math.nan
    except (TypeError, ValueError, OverflowError):
        return math.nan


@dataclass(frozen=True, slots=True)
class Reward:
    """What a score says of one candidate: `team` (the shared goal), `local` (this role's own job), in [0, 1] or None.

    `parts` keeps the terms of a weighted rubric; `notes` is what the workflow reads on (parsed moves, a program's
    output). Raises `RewardError` outside [0, 1], for NaN and for anything that is no number.

    >>> Reward(team=0.5, local=1).local
    1.0
    """

    team: float | None = None
    local: float | None = None
    notes: Any = None
    parts: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "team", _checked("team", self.team))
        object.__setattr__(self, "local", _checked("local", self.local))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a workflow returns: did the team succeed, and its final team reward in [0, 1]."""

    success: bool
    team: float
    metrics: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "success", bool(self.success))
        if self.team is None:
            raise RewardError("the outcome has no team reward", fix="return Outcome(success, team), team in [0, 1]")
        object.__setattr__(self, "team", _checked("outcome.team", self.team))


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one role's candidates are drawn. `greedy` takes the argmax and ignores temperature.

    `top_p` and `top_k` (0: off) below full support are refused in training: the log-probs of the update are those of
    the full softmax at `temperature`, so a cut support would make the first-pass ratio differ from 1.
    """

    temperature: float = 1.0
    max_tokens: int = 64
    stop: tuple[str, ...] = ()
    top_p: float = 1.0
    top_k: int = 0
    greedy: bool = False


@dataclass(frozen=True, slots=True, order=True)
class CallKey:
    """Names a call within its episode. `turn` counts the earlier calls of the same (role, slot) unless given;
    `visit` tells apart calls with the same (role, slot, turn)."""

    role: str
    slot: int = 0
    turn: int = 0
    visit: int = 0

    def __str__(self) -> str:
        return f"{self.role}[{self.slot}] turn {self.turn}" + (f" visit {self.visit}" if self.visit else "")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the K answers to one observation.

    `sampling_logprobs` are in nats, one per token id, at the sampling temperature.
    `token_ids` holds every sampled id, the end token included; `text` is without it and without a stop string.
    """

    text: str
    token_ids: tuple[int, ...]
    sampling_logprobs: tuple[float, ...]
    finish: Finish
    reward: Reward | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """One `act` of one (role, slot): the observation, K candidates, their rewards, the chosen one.

    `trainable` is False for frozen and remote policies and in evaluation. `settled` tells that rewards came late.
    `prompt_dropped` counts the prompt tokens that the over-long policy cut away.
    """

    key: CallKey
    policy: str
    policy_version: int
    tokenizer_id: str
    prompt_ids: tuple[int, ...]
    candidates: tuple[Candidate, ...]
    chosen: int
    temperature: float = 1.0
    trainable: bool = True
    settled: bool = False
    prompt_dropped: int = 0

    @property
    def text(self) -> str:
        return self.candidates[self.chosen].text

    @property
    def token_ids(self) -> tuple[int, ...]:
        return self.candidates[self.chosen].token_ids

    @property
    def finish(self) -> Finish:
        return self.candidates[self.chosen].finish


@dataclass(frozen=True, slots=True)
class Episode:
    """All calls of one workflow run on one task.

    `ticket` numbers the collected batch, `copy` the trees of one task in that batch, `branch` the episodes of one tree
    (0 under `tree` sampling). `effects` are the recorded results of `cast.effect`. `error` is None, or the text of the
    failure that ended it (such an episode gives no rows and is never a number).
    `extra_tokens` and `extra_calls` count what look-ahead and resampling cost beyond the calls stored here.
    """

    task_set: str
    task_id: str
    split: str
    phase: Phase
    ticket: int
    copy: int
    branch: int
    calls: tuple[Call, ...]
    outcome: Outcome | None
    effects: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    extra_tokens: int = 0
    extra_calls: int = 0

    @property
    def tree(self) -> tuple[int, str, int]:
        """The tree this episode belongs to: (ticket, task id, copy)."""
        return (self.ticket, self.task_id, self.copy)


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate, ready to learn from. `node` names its sampling event: rows of one node share `prompt_ids`.

    `weight` 0 takes the row out of the policy term, KL, entropy and every denominator (a dropped equal group).
    `group` is the key of the candidates it was compared with.
    """

    policy: str
    policy_version: int
    role: str
    slot: int
    turn: int
    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    sampling_logprobs: tuple[float, ...]
    temperature: float
    advantage: float
    reward: float
    group: tuple[Any, ...]
    node: tuple[Any, ...]
    truncated: bool = False
    weight: float = 1.0
