"""Checks an engine of one's own against the contract of `motet.engines.base`."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace

from motet.engines.base import Completion, Engine, Request
from motet.errors import EngineError, MotetError
from motet.rollout.counters import candidate_keys
from motet.types import Message, Sampling

_FINISH = ("eos", "stop", "length")


def check_engine(
    engine: Engine,
    policy: str,
    *,
    prompt: str = "Say a number.",
    sampling: Sampling | None = None,
    num_candidates: int = 4,
    tolerance: float = 0.0,
) -> list[str]:
    """Sample `policy` a few times; the names of the checks that ran, or an `EngineError` that lists all that failed.

    voice      `encode` and `decode` round-trip the prompt; the chat dialect renders a conversation; `version` is a
    count shape      K completions; a log-prob per id, each finite and at most 0 nats; ids within `max_tokens`;
    `finish` known repeat     the same request gives the same ids, and log-probs within `tolerance`
    keys       an answer belongs to its key: it does not depend on K or on the place of its key
    company    requests that wait together give what each gives alone
    greedy     greedy answers do not depend on the keys
    stop       a stop string taken from an answer ends it and leaves the text

    >>> from motet.engines.scripted import ScriptedEngine
    >>> check_engine(ScriptedEngine(lambda policy, prompt, index, uniform: f"{uniform:.3f}"), "p")
    ['voice', 'shape', 'repeat', 'keys', 'company', 'greedy', 'stop']
    """
    check = _Check(engine, policy, prompt, sampling or Sampling(max_tokens=16), num_candidates, tolerance)
    checks: dict[str, Callable[[], Awaitable[list[str]]]] = {
        "voice": check.voice,
        "shape": check.shape,
        "repeat": check.repeat,
        "keys": check.keys,
        "company": check.company,
        "greedy": check.greedy,
        "stop": check.stop,
    }

    async def run() -> list[str]:
        problems: list[str] = []
        for name, one in checks.items():
            try:
                problems += [f"{name}: {text}" for text in await one()]
            except MotetError as error:
                problems.append(f"{name}: {error}")
            if problems and name == "shape":
                break
        return problems

    problems = asyncio.run(run())
    if problems:
        raise EngineError("; ".join(problems), where={"engine": type(engine).__name__, "policy": policy})
    return list(checks)


class _Check:
    def __init__(
        self, engine: Engine, policy: str, prompt: str, sampling: Sampling, num: int, tolerance: float
    ) -> None:
        self.engine, self.policy, self.prompt, self.tolerance = engine, policy, prompt, tolerance
        ids = tuple(engine.voice(policy).encode(prompt))
        self.request = Request(policy, ids, candidate_keys(2**40 + 7, num), sampling)

    async def voice(self) -> list[str]:
        voice, problems = self.engine.voice(self.policy), []
        if voice.decode(self.request.prompt_ids).strip() != self.prompt.strip():
            problems.append(f"decode(encode(text)) gives {voice.decode(self.request.prompt_ids)!r}")
        if voice.dialect == "chat" and not voice.encode_chat([Message("user", self.prompt)]):
            problems.append("encode_chat gives no ids")
        if voice.max_prompt_tokens < 1:
            problems.append(f"max_prompt_tokens is {voice.max_prompt_tokens}")
        version = self.engine.version(self.policy)
        return problems if isinstance(version, int) and version >= 0 else [*problems, f"version is {version!r}"]

    async def shape(self) -> list[str]:
        answers = await self.engine.sample(self.request)
        problems = []
        if len(answers) != self.request.num_candidates:
            problems.append(f"{len(answers)} answers for {self.request.num_candidates} keys")
        for index, answer in enumerate(answers):
            if len(answer.logprobs) != len(answer.token_ids):
                problems.append(f"answer {index} has {len(answer.token_ids)} ids and {len(answer.logprobs)} log-probs")
            if not all(math.isfinite(value) and value <= 0.0 for value in answer.logprobs):
                problems.append(f"answer {index} has a log-prob that is not finite or above 0")
            if not 1 <= len(answer.token_ids) <= self.request.sampling.max_tokens:
                problems.append(f"answer {index} has {len(answer.token_ids)} ids")
            if answer.finish not in _FINISH:
                problems.append(f"answer {index} finished by {answer.finish!r}")
        return problems

    async def repeat(self) -> list[str]:
        one, two = await self.engine.sample(self.request), await self.engine.sample(self.request)
        return [f"answer {index} differs the second time" for index in self._differ(one, two)]

    async def keys(self) -> list[str]:
        whole = await self.engine.sample(self.request)
        first = await self.engine.sample(replace(self.request, keys=self.request.keys[:1]))
        turned = await self.engine.sample(replace(self.request, keys=self.request.keys[::-1]))
        problems = ["answer 0 depends on the number of candidates"] if self._differ(whole[:1], first) else []
        return [*problems, *(f"answer {i} depends on its place" for i in self._differ(whole, turned[::-1]))]

    async def company(self) -> list[str]:
        alone = await self.engine.sample(self.request)
        longer = (*self.request.prompt_ids, *self.request.prompt_ids)
        other = replace(self.request, prompt_ids=longer, keys=candidate_keys(5, 3))
        both = await asyncio.gather(self.engine.sample(other), self.engine.sample(self.request))
        return [f"answer {index} depends on what waits beside it" for index in self._differ(alone, both[1])]

    async def greedy(self) -> list[str]:
        greedy = replace(self.request, sampling=replace(self.request.sampling, greedy=True))
        one = await self.engine.sample(replace(greedy, keys=self.request.keys[:1]))
        two = await self.engine.sample(replace(greedy, keys=self.request.keys[1:2] or candidate_keys(9, 1)))
        return ["a greedy answer depends on its key"] if self._differ(one, two) else []

    async def stop(self) -> list[str]:
        request = replace(self.request, keys=self.request.keys[:1])
        (answer,) = await self.engine.sample(request)
        stop = answer.text.strip()[-1:]
        if not stop:
            return []
        (cut,) = await self.engine.sample(replace(request, sampling=replace(request.sampling, stop=(stop,))))
        if cut.finish != "stop" or stop in cut.text:
            return [f"with the stop string {stop!r} the answer is {cut.text!r}, finished by {cut.finish!r}"]
        return []

    def _differ(self, one: list[Completion], two: list[Completion]) -> list[int]:
        return [
            index
            for index, (a, b) in enumerate(zip(one, two))
            if a.token_ids != b.token_ids or any(abs(x - y) > self.tolerance for x, y in zip(a.logprobs, b.logprobs))
        ]
