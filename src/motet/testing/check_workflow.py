"""Checks a workflow of one's own against the contract that sampling, replay and credit rely on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from motet.engines.base import Completion, Request
from motet.engines.scripted import CharacterVoice, Reply, ScriptedEngine
from motet.errors import MotetError, WorkflowError
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.records import decode_episode, encode_episode
from motet.rollout.replay import replay
from motet.rollout.runner import run_batch
from motet.rollout.settings import RolloutSettings, Rule
from motet.testing.check_task import ODD_TEXTS
from motet.types import Episode, Phase, Sampling

_NUM_SEEDS = 4


def check_workflow(
    workflow: Any,
    task: Any,
    *,
    texts: Sequence[str] = (),
    rule: Rule = "tree",
    width: int = 3,
    max_calls: int = 100_000,
) -> list[str]:
    """Play `task` with scripted random replies; the names of the checks that ran, or a `WorkflowError` that lists
    all that failed.

    fits       the workflow says that it can play the task, and its roles make a cast
    dialects   it can be read in the dialects `chat` and `compact`
    plays      episodes end, a batch of them within `max_calls` calls, with an `Outcome`, whatever is said: `texts`
    (give
               some good answers) and a set of odd ones; every role speaks
    worth      (rule `tree`) every call is scored or settled, with rewards in [0, 1]
    pure       the same replies give the same episodes: alone, beside others, and asked again
    replay     a replay from the record, read back from JSON, asks the same, earns the same and ends the same
    evaluation one candidate per call

    >>> from motet.types import Outcome, Reward
    >>> from motet.workflows.base import Workflow
    >>> class Echo(Workflow):
    ...     roles = {"speaker": 1}
    ...     async def run(self, task, cast):
    ...         call = await cast.speaker.act("say yes", score=lambda text: Reward(team=float(text == "yes")))
    ...         return Outcome(call.text == "yes", float(call.text == "yes"))
    >>> from types import SimpleNamespace
    >>> check_workflow(Echo(), SimpleNamespace(id="t-0"), texts=["yes"])
    ['fits', 'dialects', 'plays', 'worth', 'pure', 'replay', 'evaluation']
    """
    stage = _Stage(workflow, task, tuple(texts), rule, width, max_calls)
    checks: dict[str, Callable[[], list[str]]] = {
        "fits": stage.fits,
        "dialects": stage.dialects,
        "plays": stage.plays,
        "worth": stage.worth,
        "pure": stage.pure,
        "replay": stage.replays,
        "evaluation": stage.evaluation,
    }
    if rule != "tree":
        del checks["worth"]
    problems: list[str] = []
    for name, check in checks.items():
        try:
            problems += [f"{name}: {text}" for text in check()]
        except MotetError as error:
            problems.append(f"{name}: {error}")
        if problems and name in ("fits", "dialects", "plays"):
            break
    if problems:
        raise WorkflowError("; ".join(problems), where={"workflow": type(workflow).__name__, "task": task.id})
    return list(checks)


class _Stage:
    """One workflow, one task, scripted replies."""

    def __init__(
        self, workflow: Any, task: Any, texts: tuple[str, ...], rule: Rule, width: int, max_calls: int
    ) -> None:
        self.workflow, self.task, self.rule, self.width, self.max_calls = workflow, task, rule, width, max_calls
        said = (*(texts * max(1, 2 * len(ODD_TEXTS) // max(1, len(texts)))), *ODD_TEXTS)
        self.reply = lambda policy, prompt, index, uniform: said[int(uniform * len(said))]

    def engine(self, dialect: str = "compact") -> ScriptedEngine:
        return _Bounded(self.reply, self.max_calls, CharacterVoice(dialect))

    def cast(self) -> Cast:
        return Cast.per_role(self.workflow.roles, PolicySpec("scripted", engine="scripted"), **_FREE)

    def play(
        self,
        seeds: Sequence[int] = range(_NUM_SEEDS),
        *,
        dialect: str = "compact",
        phase: Phase = "train",
        rule: Rule | None = None,
        at_once: int = 64,
        workflow: Any = None,
    ) -> list[Episode]:
        settings = RolloutSettings(
            rule=rule or self.rule, width=self.width, choose="random", max_parallel=at_once, score_timeout_s=60.0
        )
        return run_batch(
            workflow or self.workflow,
            [("check", self.task, seed) for seed in seeds],
            self.cast(),
            {"scripted": self.engine(dialect)},
            settings,
            phase=phase,
            ticket=0,
            seed=0,
            split="check",
        )

    def fits(self) -> list[str]:
        if not self.workflow.roles:
            return ["it declares no roles"]
        self.cast()
        reason = self.workflow.fits(self.task) if hasattr(self.workflow, "fits") else None
        return [reason] if reason else []

    def dialects(self) -> list[str]:
        for dialect in ("chat", "compact"):
            self.play([0], dialect=dialect, rule="independent")
        return []

    def plays(self) -> list[str]:
        episodes = self.play(range(4 * _NUM_SEEDS), rule="independent")
        silent = [
            role for role in self.workflow.roles if not any(c.key.role == role for e in episodes for c in e.calls)
        ]
        return [f"the role {role!r} never spoke in {len(episodes)} episodes" for role in silent]

    def worth(self) -> list[str]:
        self.play()
        return []

    def pure(self) -> list[str]:
        beside, alone, again = self.play(), self.play(at_once=1), self.play()
        return [
            f"the same replies gave other episodes {how}; the first to differ is copy {_first(beside, other)}"
            for how, other in (("one at a time", alone), ("the second time", again))
            if beside != other
        ]

    def replays(self) -> list[str]:
        for episode in self.play():
            read = decode_episode(encode_episode(episode))
            replay(
                self.workflow,
                self.task,
                read,
                self.cast(),
                {"scripted": self.engine()},
                RolloutSettings(rule=self.rule, score_timeout_s=60.0),
            )
        return []

    def evaluation(self) -> list[str]:
        episodes = self.play(phase="eval")
        wide = [call.key for episode in episodes for call in episode.calls if len(call.candidates) != 1]
        return [f"{wide[0]} drew several candidates"] if wide else []


class _Bounded(ScriptedEngine):
    """Refuses to go on without end."""

    def __init__(self, reply: Reply, max_calls: int, voice: CharacterVoice) -> None:
        super().__init__(reply, voice=voice)
        self._max_calls = max_calls

    async def sample(self, request: Request) -> list[Completion]:
        if len(self.requests) >= self._max_calls:
            raise WorkflowError(f"more than {self._max_calls} calls", fix="bound the turns of run, or raise max_calls")
        return await super().sample(request)


_FREE: dict[str, Any] = {"train": Sampling(max_tokens=10_000), "eval": Sampling(max_tokens=10_000)}


def _first(one: Sequence[Episode], other: Sequence[Episode]) -> int:
    return next((index for index, (a, b) in enumerate(zip(one, other)) if a != b), 0)
