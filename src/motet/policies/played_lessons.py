"""Lessons from played episodes: a workflow is run with demonstrators in every place, and what each place was shown and
would have answered becomes a lesson.

The prompts are those that the workflow's own prompts render for the tiny models: nothing is worded twice. What a
demonstrator *says*, and the others go on from, and what it *teaches* are drawn apart: an evaluator that only ever read
right answers would learn to say yes.
"""

from __future__ import annotations

import asyncio
import inspect
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import torch
from torch import Tensor

from motet.engines.base import Voice
from motet.engines.voice import HfVoice
from motet.errors import EngineError
from motet.policies import tiny
from motet.policies.optimiser import Optimiser, rate_at
from motet.policies.tiny_net import TinyNet
from motet.rollout.rendering import render
from motet.types import Observation, Prompt

Speak = Callable[[str, Any, Mapping[str, Any], int, Random], str]
"""What a demonstrator says: (role, task, values of its prompt, kind, rng) -> text. Kinds are 0 PERFECT, 1 WRONG,
2 RANDOM."""

Kinds = tuple[float, float, float]
"""How often a demonstrator is PERFECT, WRONG or RANDOM, drawn per call."""

_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Shown:
    """A lesson: the ids of a prompt, and those of the answer to it, the end token included."""

    role: str
    prompt_ids: tuple[int, ...]
    answer_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Manner:
    """How the demonstrators behave: what they say to one another, and what they teach, by role (`*`: any other)."""

    said: Mapping[str, Kinds]
    taught: Mapping[str, Kinds]

    def draw(self, which: Mapping[str, Kinds], role: str, rng: Random) -> int:
        return rng.choices((0, 1, 2), which.get(role, which.get("*", (1.0, 0.0, 0.0))))[0]


@dataclass(slots=True)
class _Said:
    """What a demonstrator said; a workflow and its prompts read it like a call of one candidate."""

    text: str
    token_ids: tuple[int, ...]
    tokenizer_id: str
    notes: Any
    finish: str = "eos"

    @property
    def record(self) -> Any:
        return SimpleNamespace(candidates=(SimpleNamespace(text=self.text, reward=SimpleNamespace(notes=self.notes)),))

    def settle(self, worth: Any, *, estimate: bool = False) -> None:
        """Nothing to settle: a demonstrator is not judged."""

    async def settle_off_loop(self, worth: Any) -> None:
        """Nothing to settle."""


class _Seats:
    """A role, or one of its slots."""

    def __init__(self, cast: PlayedCast, role: str, num: int) -> None:
        self._cast, self._role, self._num = cast, role, num

    def __len__(self) -> int:
        return self._num

    def __getitem__(self, slot: int) -> _Seats:
        return _Seats(self._cast, self._role, 1)

    def __iter__(self) -> Iterator[_Seats]:
        return (self[slot] for slot in range(self._num))

    async def act(self, observation: Observation, *, score: Any = None, read: Any = None, turn: Any = None) -> _Said:
        return await self._cast.act(self._role, observation, score, read)


class PlayedCast:
    """The cast of one episode by demonstrators; `lessons` fills as it is played."""

    def __init__(self, workflow: Any, task: Any, speak: Speak, manner: Manner, voice: HfVoice, seed: str) -> None:
        self._workflow, self._task, self._speak, self._manner, self._voice = workflow, task, speak, manner, voice
        self._rng = Random(seed)
        self.lessons: list[Shown] = []

    def __getitem__(self, role: str) -> _Seats:
        return _Seats(self, role, self._workflow.roles[role])

    def __getattr__(self, role: str) -> _Seats:
        if role.startswith("_") or role not in self._workflow.roles:
            raise AttributeError(role)
        return self[role]

    async def gather(self, *parts: Awaitable[Any]) -> list[Any]:
        return list(await asyncio.gather(*parts))

    async def effect(self, key: str, fn: Callable[[], Any]) -> Any:
        value = fn()
        return await value if inspect.isawaitable(value) else value

    async def act(self, role: str, observation: Observation, score: Any, read: Any) -> _Said:
        if not isinstance(observation, Prompt):
            raise EngineError("demonstrators read named prompts alone", where={"role": role})
        voice, manner = self._voice, self._manner
        prompt_ids = render(observation, self._workflow.prompts, cast(Voice, voice), where={"role": role}).prompt_ids
        kinds = [manner.draw(which, role, self._rng) for which in (manner.taught, manner.said)]
        taught, said = (self._speak(role, self._task, observation.values, kind, self._rng) for kind in kinds)
        end = (voice.tokenizer.eos_token_id,)
        self.lessons.append(Shown(role, prompt_ids, (*voice.encode(taught), *end)))
        notes = (read or score)(said) if read or score else None
        if inspect.isawaitable(notes):
            notes = await notes
        notes = notes if read is not None else getattr(notes, "notes", None)
        return _Said(said, (*voice.encode(said), *end), voice.tokenizer_id, notes)


def harvest(
    workflow: Any, tasks: Sequence[Any], speak: Speak, manner: Manner, *, voice: HfVoice, seed: int = 0
) -> list[Shown]:
    """The lessons of one episode per task, in the order of tasks and calls: a pure function of its arguments.

    Raises `EngineError` where an answer holds a word that the tiny models do not have.

    >>> from motet.policies.played_voices import arithmetic
    >>> from motet.tasks.arithmetic import ArithmeticTask
    >>> from motet.workflows.evaluator_optimizer import EvaluatorOptimizer
    >>> task, right = ArithmeticTask("t", 37, "+", 45), {"*": (1.0, 0.0, 0.0)}
    >>> voice = tiny_voice()
    >>> found = harvest(EvaluatorOptimizer(), [task], arithmetic, Manner(right, right), voice=voice)
    >>> [(one.role, voice.decode(one.prompt_ids), voice.decode(one.answer_ids)) for one in found]
    [('generator', '3 7 + 4 5 = generator', '8 2'), ('evaluator', '3 7 + 4 5 = generator 8 2 evaluator', 'yes')]
    """
    casts = [PlayedCast(workflow, task, speak, manner, voice, f"{seed} {n} {task.id}") for n, task in enumerate(tasks)]

    async def play_all() -> None:
        for first in range(0, len(casts), _AT_ONCE):
            some = range(first, min(first + _AT_ONCE, len(casts)))
            await asyncio.gather(*(workflow.run(tasks[i], casts[i]) for i in some))

    asyncio.run(play_all())
    lessons = [lesson for cast in casts for lesson in cast.lessons]
    for lesson in lessons:
        if voice.tokenizer.unk_token_id in (*lesson.prompt_ids, *lesson.answer_ids):
            words = f"{voice.decode(lesson.prompt_ids)!r} -> {voice.decode(lesson.answer_ids)!r}"
            raise EngineError(f"a lesson holds a word that the tiny models do not have: {words}")
    return lessons


def tiny_voice() -> HfVoice:
    """The voice of the tiny models, without a model."""
    return HfVoice(tiny.tokenizer(), dialect="compact", max_prompt_tokens=tiny.MAX_POSITIONS)


Sheet = tuple[Shown, ...]
"""Lessons whose prompts differ in their last word alone, the role that is to speak: what stands before is read once."""


class Stock:
    """Lessons in sheets; `draw` gives a batch of sheets of one form: prompts of one length, as many lessons on each.

    Each lesson is a sheet of its own, and a role is drawn by `share` (1 where it is not named); `shared` puts all
    lessons of one prompt on one sheet, whatever their roles, and `share` does nothing. Then a form is drawn by the
    number of its sheets, and `size` of them, each once before any twice, in an order drawn from `seed`.
    """

    def __init__(
        self,
        lessons: Sequence[Shown],
        size: int,
        seed: int,
        *,
        share: Mapping[str, float] | None = None,
        shared: bool = False,
    ) -> None:
        self.size, self._share, self._rng = size, share or {}, Random(seed)
        self._groups: dict[str, dict[tuple[int, int], list[Sheet]]] = defaultdict(lambda: defaultdict(list))
        for sheet in _sheets(lessons) if shared else [(lesson,) for lesson in lessons]:
            form = len(sheet[0].prompt_ids), len(sheet)
            self._groups["*" if shared else sheet[0].role][form].append(sheet)
        self._queues: dict[tuple[str, tuple[int, int]], list[Sheet]] = {}

    def draw(self) -> list[Sheet]:
        """The next batch."""
        roles = list(self._groups)
        role = self._rng.choices(roles, [self._share.get(name, 1.0) for name in roles])[0]
        forms = list(self._groups[role])
        form = self._rng.choices(forms, [len(self._groups[role][one]) for one in forms])[0]
        queue = self._queues.setdefault((role, form), [])
        while len(queue) < self.size:
            again = list(self._groups[role][form])
            self._rng.shuffle(again)
            queue[:0] = again
        taken, queue[-self.size :] = queue[-self.size :], []
        return taken


def _sheets(lessons: Sequence[Shown]) -> list[Sheet]:
    """Lessons put together by their prompts but for the last word; of equal ones the first."""
    found: dict[tuple[int, ...], dict[Shown, None]] = {}
    for lesson in lessons:
        found.setdefault(lesson.prompt_ids[:-1], {})[lesson] = None
    return [tuple(sheet) for sheet in found.values()]


def batch_of(sheets: Sequence[Sheet]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Sheets of one form as (prefix [B, P-1], tails [B, S, T], targets [B, S, T], mask [B, S, T]).

    The last word of a prompt stands in the tail, whose first output predicts the first word of the answer.
    """
    rows = [lesson for sheet in sheets for lesson in sheet]
    longest = max(len(lesson.answer_ids) for lesson in rows)
    prefix = torch.tensor([sheet[0].prompt_ids[:-1] for sheet in sheets])
    answers = torch.zeros(len(rows), longest, dtype=torch.long)
    mask = torch.zeros(len(rows), longest)
    for row, lesson in enumerate(rows):
        answers[row, : len(lesson.answer_ids)] = torch.tensor(lesson.answer_ids)
        mask[row, : len(lesson.answer_ids)] = 1.0
    tails = torch.cat([torch.tensor([[lesson.prompt_ids[-1]] for lesson in rows]), answers[:, :-1]], 1)
    form = len(sheets), len(sheets[0]), longest
    return prefix, tails.view(form), answers.view(form), mask.view(form)


def answer_loss(net: TinyNet, sheets: Sequence[Sheet]) -> Tensor:
    """Cross entropy of the answers, mean over their words, in nats."""
    prefix, tails, targets, mask = batch_of(sheets)
    _, hidden = net.hidden(prefix, tails)
    logprobs = net.logits(hidden).log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    return -(logprobs * mask).sum() / mask.sum()


def learn(
    weights: dict[str, Tensor],
    size: tiny.TinySize,
    stock: Stock,
    *,
    steps: int,
    lr: float,
    until: Callable[[], bool] = lambda: False,
    report: Callable[[int, float], None] = lambda step, loss: None,
) -> int:
    """Train `weights` in place on batches of `stock`; returns the steps done, fewer where `until` turned true.

    Deterministic in (weights, stock, steps, lr) for one thread count.
    """
    for weight in weights.values():
        weight.requires_grad_(True)
    net, optimiser = TinyNet(size, weights), Optimiser(weights)
    for step in range(steps):
        if until():
            return step
        loss = answer_loss(net, stock.draw())
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step(lr * rate_at(step / steps, warm_up=0.03, decay=0.7, floor=0.03))
        report(step + 1, float(loss.detach()))
    return steps
