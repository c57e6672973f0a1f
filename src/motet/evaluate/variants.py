"""A workflow with one role taken out: silent, repeating another role, or speaking words that were given to it.

A stand-in is no call: it asks no model, costs no token and leaves no record. The workflow itself is not touched; it
sees a cast whose stand-ins answer at once. So these comparisons work for every workflow, and the budget stays the
workflow's.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from motet.errors import ConfigError
from motet.evaluate.casting import alone, check_role
from motet.policies.cast import Cast
from motet.types import CallKey, Episode, Observation, Outcome

Line = Callable[[str, CallKey], str]
"""What a stand-in says: (task id, which call) -> text."""


@dataclass(frozen=True, slots=True)
class Variant:
    """Who is replaced by what: `silent` roles answer with an empty text, `echo` maps a role to the role whose latest
    text it repeats.

    >>> Variant("executor_alone", silent=("planner",), role="executor").replaced
    {'planner'}
    """

    name: str
    silent: tuple[str, ...] = ()
    echo: Mapping[str, str] = field(default_factory=dict)
    role: str | None = None

    @property
    def replaced(self) -> set[str]:
        return {*self.silent, *self.echo}


def variants_of(workflow: Any) -> list[Variant]:
    """The variants a workflow can be played in.

    A workflow declares them as `variants`, a mapping of name to
    {"silent": [role ...], "echo": {role: role}, "role": role}; one that does not, and has a `planner` and an
    `executor`, gets `planner_alone` (the executor's place walks the proposal) and `executor_alone` (the
    proposal is empty). Raises `ConfigError` for a role the workflow does not have.
    """
    declared = getattr(workflow, "variants", None)
    if callable(declared):
        declared = declared()
    if declared is None:
        declared = {}
        if {"planner", "executor"} <= set(workflow.roles):
            declared = {
                "planner_alone": {"echo": {"executor": "planner"}, "role": "planner"},
                "executor_alone": {"silent": ["planner"], "role": "executor"},
            }
    made = [
        Variant(name, tuple(one.get("silent", ())), dict(one.get("echo", {})), one.get("role"))
        for name, one in declared.items()
    ]
    for variant in made:
        for role in (*variant.replaced, *variant.echo.values(), *([variant.role] if variant.role else [])):
            check_role(role, list(workflow.roles), of=f"variant {variant.name}")
        if variant.replaced == set(workflow.roles):
            raise ConfigError(f"variant {variant.name!r} replaces every role", fix="leave one role that a policy plays")
    return made


@dataclass(frozen=True, slots=True)
class Said:
    """What a stand-in answered. It can be read like a call; a reader with any tokenizer gets its text."""

    text: str
    notes: Any = None
    key: CallKey | None = None
    token_ids: tuple[int, ...] = ()
    tokenizer_id: str = ""

    def settle(self, worth: Any) -> None:
        """Nothing to settle: a stand-in is not judged."""


class StandIn:
    """A role (or one slot of it) that answers `say(task id, key)` without a model."""

    def __init__(self, stage: _Stage, say: Line, role: str, slot: int | None = None) -> None:
        self._stage, self._say, self._role, self._slot = stage, say, role, slot

    def __len__(self) -> int:
        return self._stage.num_slots(self._role)

    def __getitem__(self, slot: int) -> StandIn:
        return StandIn(self._stage, self._say, self._role, slot)

    def __iter__(self) -> Iterator[StandIn]:
        return (self[slot] for slot in range(len(self)))

    async def act(
        self, observation: Observation, *, score: Any = None, read: Any = None, turn: int | None = None
    ) -> Said:
        key = self._stage.next_key(self._role, self._slot or 0, turn)
        text = self._say(self._stage.task_id, key)
        self._stage.heard[self._role] = text
        return Said(text, await _notes(score, read, text), key)


async def _notes(score: Any, read: Any, text: str) -> Any:
    """What the workflow reads on: what `read` makes of the text, or the notes of its score, as for any other answer."""
    if read is None and score is None:
        return None
    value = (read or score)(text)
    if inspect.isawaitable(value):
        value = await value
    return value if read is not None else getattr(value, "notes", None)


class _Listening:
    """A real role whose latest text is kept for those who repeat it."""

    def __init__(self, stage: _Stage, inner: Any, role: str) -> None:
        self._stage, self._inner, self._role = stage, inner, role

    def __len__(self) -> int:
        return len(self._inner)

    def __getitem__(self, slot: int) -> _Listening:
        return _Listening(self._stage, self._inner[slot], self._role)

    def __iter__(self) -> Iterator[_Listening]:
        return (self[slot] for slot in range(len(self)))

    async def act(self, observation: Observation, **settings: Any) -> Any:
        call = await self._inner.act(observation, **settings)
        self._stage.heard[self._role] = call.text
        return call


class _Stage:
    """The cast of one episode with the stand-ins in their places."""

    def __init__(self, inner: Any, lines: Mapping[str, Line], echo: Mapping[str, str], task_id: str) -> None:
        self._inner, self._lines, self._echo, self.task_id = inner, lines, echo, task_id
        self.heard: dict[str, str] = {}
        self._turns: Counter[tuple[str, int]] = Counter()

    def num_slots(self, role: str) -> int:
        return len(self._inner[role])

    def next_key(self, role: str, slot: int, turn: int | None) -> CallKey:
        earlier = self._turns[role, slot]
        self._turns[role, slot] += 1
        return CallKey(role, slot, earlier if turn is None else turn)

    def __getitem__(self, role: str) -> Any:
        if role in self._echo:
            return StandIn(self, lambda _task, _key: self.heard.get(self._echo[role], ""), role)
        if role in self._lines:
            return StandIn(self, self._lines[role], role)
        if role in self._echo.values():
            return _Listening(self, self._inner[role], role)
        return self._inner[role]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name] if {name} & {*self._lines, *self._echo, *self._echo.values()} else getattr(self._inner, name)


class Ablated:
    """`workflow` with some roles replaced: `lines` says what each of them answers, `echo` whom it repeats.

    It is played like the workflow itself (same roles, prompts, budget).
    """

    def __init__(
        self, workflow: Any, lines: Mapping[str, Line] | None = None, echo: Mapping[str, str] | None = None
    ) -> None:
        self._workflow, self._lines, self._echo = workflow, dict(lines or {}), dict(echo or {})
        for role in (*self._lines, *self._echo, *self._echo.values()):
            check_role(role, list(workflow.roles))

    @classmethod
    def of(cls, workflow: Any, variant: Variant) -> Ablated:
        return cls(workflow, dict.fromkeys(variant.silent, _silence), variant.echo)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._workflow, name)

    async def run(self, task: Any, cast: Any) -> Outcome:
        return await self._workflow.run(task, _Stage(cast, self._lines, self._echo, task.id))


def solo(workflow: Any, cast: Cast, role: str) -> tuple[Any, Cast]:
    """Workflow and cast in which `role` plays alone: the variant that the workflow has for it, or else one policy in
    every place. Raises `ConfigError` for a role the workflow does not have."""
    check_role(role, list(workflow.roles))
    for variant in variants_of(workflow):
        if variant.role == role:
            return Ablated.of(workflow, variant), cast
    return workflow, alone(cast, role)


def _silence(_task_id: str, _key: CallKey) -> str:
    return ""


def shuffled(episodes: Sequence[Episode], role: str) -> Line:
    """Lines for `role` out of other tasks' episodes: a fixed derangement of what it said there.

    Each call of task i gets the text that the role sampled at the same (slot, turn) in the next task, in task order and
    around the end, whose role spoke at that turn; never its own. Where no other task got that far, the text is empty.
    Raises `ConfigError` for fewer than two tasks.
    """
    order = list(dict.fromkeys(episode.task_id for episode in episodes))
    if len(order) < 2:
        raise ConfigError("plans can be shuffled only across two tasks or more", fix="evaluate on more tasks")
    spoken = {
        (episode.task_id, call.key.slot, call.key.turn): call.text
        for episode in episodes
        for call in episode.calls
        if call.key.role == role
    }
    places = {task_id: index for index, task_id in enumerate(order)}

    def line(task_id: str, key: CallKey) -> str:
        start = places[task_id]
        for step in range(1, len(order)):
            said = spoken.get((order[(start + step) % len(order)], key.slot, key.turn))
            if said is not None:
                return said
        return ""

    return line
