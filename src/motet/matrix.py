"""Every kind of task with every workflow that is made for it, two iterations of training each: does it run, and does it
give every role that learns something to learn from?

    motet matrix                 tiny models of random weights, on a laptop: does everything hold together
    motet matrix --tier chat     a real chat model

A cell holds where no episode failed and every trainable role has a group whose rewards differ. What random weights say
is garbage, and they learn nothing here; they pick one word in some hundred that can be read, and K is high enough that
one candidate among them says it; where nobody would, a shipped base that knows the words takes their place.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from motet.build import Prepared, prepare
from motet.config import load, nearest
from motet.credit.assign import rows
from motet.errors import ConfigError, MotetError
from motet.rollout.records import read_episodes
from motet.session import start
from motet.tasks.base import TaskSet, make_task_set
from motet.types import Call, Episode
from motet.workflows.base import make_workflow
from motet.workflows.fitting import ANSWERS, GAMES, PROGRAMS

ITERATIONS = 2

KINDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "games": (("plan_path", "sudoku", "sokoban"), GAMES),
    "maths": (("arithmetic",), ANSWERS),
    "code": (("mini_code",), PROGRAMS),
}
"""Kind of task -> the task sets that stand for it, and the workflows that are made for it."""


@dataclass(frozen=True, slots=True)
class Tier:
    """One way to run all cells: a model, and settings of a recipe.

    tasks, workflows: settings of single ones. sampling: of a kind of task. max_tokens: of a kind, or of a role. taught:
    keys of the recipe for a workflow whose roles need a model that has learnt to speak.
    """

    model: str
    settings: Mapping[str, Any]
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    workflows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    max_tokens: Mapping[str, int] = field(default_factory=dict)
    sampling: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    taught: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


TIERS: Mapping[str, Tier] = {
    "smoke": Tier(
        "tiny-s:random",
        {"policy": {"kind": "full"}},
        tasks={"plan_path": {"size": 6, "min_distance": 3}},
        workflows={"tool_planner": {"language": "words"}, "reasoner_tool": {"max_turns": 2}},
        max_tokens={"games": 4, "maths": 2, "code": 2, "aggregator": 1, "judge": 1},
        sampling={
            "games": {"width": 64, "trees": 2},
            "maths": {"width": 96, "trees": 8},
            "code": {"width": 96, "trees": 8},
        },
        # a test is three words in a row, which random weights do not say in ten thousand answers
        taught={
            "coder_tester": {
                "model": "tiny-s-mini-code",
                "role": {"max_tokens": 14},
                "sampling": {"width": 8, "trees": 4, "max_failed_frac": 0.99},
            }
        },
    ),
    "chat": Tier(
        "smollm2",
        {
            "sampling": {
                "width": 4,
                "trees": 2,
                "max_parallel": 8,
                "max_prompt_tokens": 1024,
                "overlong": "drop_oldest",
            },
            "policy": {"kind": "lora", "rank": 4},
            "update": {"micro_batch_tokens": 2048},
        },
        tasks={"plan_path": {"size": 6, "min_distance": 3}},
        max_tokens={"games": 96, "maths": 96, "code": 160},
    ),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A task set and a workflow that is made for its kind.

    >>> [cell.workflow for cell in cells() if cell.tasks == "plan_path"]
    ['single', 'planner_executor', 'tool_planner', 'debate']
    """

    kind: str
    tasks: str
    workflow: str


@dataclass(frozen=True, slots=True)
class RoleFound:
    """What one trainable role had: groups, those with differences at the run's alpha, at alpha 1 (team) and at alpha 0
    (local); the share of candidates that could be read, None where the workflow does not tell; lowest and highest
    rewards, None where there are none.
    """

    groups: int
    unequal: int
    unequal_team: int
    unequal_local: int
    parsed: float | None
    team: tuple[float, float] | None
    local: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class CellFound:
    """What became of a cell. `problems` is empty where it holds."""

    kind: str
    tasks: str
    workflow: str
    roles: Mapping[str, RoleFound]
    episodes: int
    failed: int
    seconds: float
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.problems

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}


def cells(only: Sequence[str] = ()) -> list[Cell]:
    """All cells, or those that one of `only` names: a kind, a task set, a workflow, or `TASKS:WORKFLOW`.

    >>> [(cell.tasks, cell.workflow) for cell in cells(["sudoku:single", "coder_tester"])]
    [('sudoku', 'single'), ('mini_code', 'coder_tester')]
    """
    every = [
        Cell(kind, tasks, workflow)
        for kind, (sets, workflows) in KINDS.items()
        for tasks in sets
        for workflow in workflows
    ]
    names = {cell: {cell.kind, cell.tasks, cell.workflow, f"{cell.tasks}:{cell.workflow}"} for cell in every}
    known = set().union(*names.values())
    for one in only:
        if one not in known:
            raise ConfigError(f"no cell is called '{one}'", fix=nearest(one, known))
    return [cell for cell in every if not only or names[cell] & set(only)]


def recipe(cell: Cell, tier: Tier, seed: int = 0) -> dict[str, Any]:
    """The recipe that a cell is run by: two iterations, no evaluation, failures counted and not raised."""
    workflow = dict(tier.workflows.get(cell.workflow, {}))
    roles = make_workflow(cell.workflow, **workflow).roles
    sampling = {**tier.settings.get("sampling", {}), **tier.sampling.get(cell.kind, {}), "max_failed_frac": 0.99}
    return {
        **tier.settings,
        "name": f"{cell.tasks}-{cell.workflow}",
        "seed": seed,
        "model": tier.model,
        "tasks": [{"name": cell.tasks, "settings": dict(tier.tasks.get(cell.tasks, {}))}],
        "workflow": {"name": cell.workflow, "settings": workflow},
        "role": {"max_tokens": tier.max_tokens[cell.kind]},
        "roles": {name: {"max_tokens": tier.max_tokens[name]} for name in roles if name in tier.max_tokens},
        "sampling": sampling,
        "train": {"iterations": ITERATIONS},
        "evaluate": {"at_end": False},
        **tier.taught.get(cell.workflow, {}),
    }


def run_cell(cell: Cell, tier: Tier, *, seed: int = 0, made: dict[str, TaskSet] | None = None) -> CellFound:
    """Train a cell in a folder that is thrown away, and count. An error of the run is a problem of the cell.

    `made` keeps task sets for the cells that follow: some check themselves for seconds when they are made.
    """
    made = {} if made is None else made
    begun = time.perf_counter()
    episodes: list[Episode] = []
    roles: dict[str, RoleFound] = {}
    problems: list[str] = []
    try:
        if cell.tasks not in made:
            made[cell.tasks] = make_task_set(cell.tasks, **tier.tasks.get(cell.tasks, {}))
        prepared = prepare(load(recipe(cell, tier, seed)), task_sets=[made[cell.tasks]])
        with tempfile.TemporaryDirectory(prefix="motet-matrix-") as scratch:
            episodes = read_episodes(start(prepared, runs=Path(scratch)).folder.episodes)
        roles = roles_found(prepared, episodes)
        problems = problems_of(episodes, roles)
    except MotetError as error:
        problems = [f"{type(error).__name__}: {error}"]
    return CellFound(
        **asdict(cell),
        roles=roles,
        episodes=len(episodes),
        failed=sum(episode.error is not None for episode in episodes),
        seconds=round(time.perf_counter() - begun, 2),
        problems=tuple(problems),
    )


def run_matrix(
    tier: str, only: Sequence[str] = (), *, seed: int = 0, progress: Callable[[CellFound], None] = lambda found: None
) -> list[CellFound]:
    """Every cell, or those that `only` names. Raises `ConfigError` for a tier or a cell that does not exist."""
    if tier not in TIERS:
        raise ConfigError(f"there is no tier '{tier}'", fix=nearest(tier, TIERS))
    found: list[CellFound] = []
    made: dict[str, TaskSet] = {}
    for cell in cells(only):
        found.append(run_cell(cell, TIERS[tier], seed=seed, made=made))
        progress(found[-1])
    return found


def roles_found(prepared: Prepared, episodes: Sequence[Episode]) -> dict[str, RoleFound]:
    """What each trainable role had, over both iterations; a role that never spoke is there with nothing."""
    report = rows(episodes, prepared.credit).report
    found = {}
    for role in (name for name, one in prepared.settings.roles.items() if one.trainable):
        calls = [call for call in _calls(episodes) if call.key.role == role]
        rewards = [one.reward for call in calls for one in call.candidates if one.reward is not None]
        credit = report.roles.get(role)
        read = [is_read(reward.notes) for reward in rewards]
        told = [one for one in read if one is not None]
        found[role] = RoleFound(
            groups=credit.groups if credit else 0,
            unequal=credit.unequal if credit else 0,
            unequal_team=credit.unequal_team if credit else 0,
            unequal_local=credit.unequal_local if credit else 0,
            parsed=sum(told) / len(told) if told else None,
            team=_range([reward.team for reward in rewards]),
            local=_range([reward.local for reward in rewards]),
        )
    return found


def problems_of(episodes: Sequence[Episode], roles: Mapping[str, RoleFound]) -> list[str]:
    """Why a cell does not hold; empty where it does.

    >>> problems_of([], {"solver": RoleFound(4, 0, 0, 0, 1.0, (0.0, 0.0), (0.5, 0.5))})
    ['no episode', 'solver: 4 groups, all equal']
    """
    errors = [episode.error for episode in episodes if episode.error is not None]
    problems = [f"{len(errors)} of {len(episodes)} episodes failed, the first by: {errors[0]}"] if errors else []
    problems += [] if episodes else ["no episode"]
    for name, role in roles.items():
        if not role.groups:
            problems.append(f"{name}: never spoke")
        elif not role.unequal:
            problems.append(f"{name}: {role.groups} groups, all equal")
    return problems


def is_read(notes: Any) -> bool | None:
    """Whether an answer could be read, by the notes of its reward; None where they do not tell.

    | notes hold | read where |
    |---|---|
    | `failure` (moves) | it is None |
    | `answer`, `accepts`, `case` (the first there is) | it is something |
    | `program` | there is one, and it printed `actions` where it was to |
    | `form` (a choice) | it is above 0 |

    >>> [is_read(notes) for notes in ({"failure": None}, {"answer": None}, {"accepts": False}, {"form": 0.0}, None)]
    [True, False, True, False, None]
    """
    if not isinstance(notes, Mapping):
        return None
    if "failure" in notes:
        return notes["failure"] is None
    for key in ("answer", "accepts", "case"):
        if key in notes:
            return notes[key] is not None and notes[key] != ""
    if "program" in notes:
        return notes["program"] is not None and bool(notes.get("actions", True))
    form = notes.get("form")
    return None if not isinstance(form, (int, float)) else form > 0


def _calls(episodes: Sequence[Episode]) -> Iterator[Call]:
    return (call for episode in episodes if episode.error is None for call in episode.calls)


def _range(values: Sequence[float | None]) -> tuple[float, float] | None:
    found = [value for value in values if value is not None and math.isfinite(value)]
    return (min(found), max(found)) if found else None
