"""Slots side by side, and effects."""

from __future__ import annotations

import asyncio

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.errors import WorkflowError
from motet.types import Outcome, Reward


def half(text):
    return Reward(local=0.5)


def shuffled(reply):
    """Later slots answer first."""
    return ScriptedEngine(reply, yields=lambda request: 40 - request.prompt_ids[1] % 10 * 3)


class Vote:
    roles = {"voter": 3, "judge": 1}

    async def run(self, task, cast):
        async def twice(index):
            first = await cast.voter[index].act(f"v{index}", score=half)
            return await cast.voter[index].act(f"v{index}{first.text}", score=half)

        votes = await cast.gather(*(twice(index) for index in range(3)))
        await cast.judge.act("j0" + "".join(vote.text for vote in votes), score=half)
        return Outcome(True, 1.0, {"first": float(votes[0].text), "last": float(votes[2].text)})


def test_gather_returns_in_slot_order_and_records_in_an_order_of_its_own(play):
    reply = lambda policy, prompt, index, uniform: prompt[1]
    (episode,) = play(Vote(), shuffled(reply))
    assert episode.outcome.metrics == {"first": 0.0, "last": 2.0}
    assert [(c.key.role, c.key.slot, c.key.turn) for c in episode.calls] == [
        ("voter", 0, 0), ("voter", 0, 1), ("voter", 1, 0), ("voter", 1, 1), ("voter", 2, 0), ("voter", 2, 1),
        ("judge", 0, 0),
    ]  # fmt: skip


def test_arrival_order_changes_nothing(play, toys, digit):
    assert play(Vote(), digit, tasks=toys(5)) == play(Vote(), shuffled(digit), tasks=toys(5))


def test_the_first_error_cancels_the_siblings(play):
    ended = []

    class Fails(Vote):
        async def run(self, task, cast):
            async def waits():
                try:
                    await asyncio.sleep(30)
                finally:
                    ended.append("cancelled")

            async def raises():
                await cast.voter[1].act("v1", score=half)
                raise KeyError("lost")

            await cast.gather(waits(), raises(), waits())

    with pytest.raises(WorkflowError, match=r"KeyError: 'lost' \[task=t-0 role=voter slot=1 turn=0\]"):
        play(Fails(), lambda *args: "x")
    assert ended == ["cancelled", "cancelled"]


def test_two_open_calls_of_one_slot_are_refused(play):
    class Twice(Vote):
        async def run(self, task, cast):
            await cast.gather(cast.voter[1].act("a0", score=half), cast.voter[1].act("b0", score=half))

    with pytest.raises(WorkflowError, match=r"two open calls of one slot.*slot=1"):
        play(Twice(), lambda *args: "x")


def test_gather_of_nothing_is_an_empty_list(play):
    class Nothing(Vote):
        async def run(self, task, cast):
            assert await cast.gather() == []
            return Outcome(True, 1.0)

    play(Nothing())


def test_an_effect_happens_once_and_its_key_is_used_once(play):
    ran = []

    class Acts(Vote):
        def __init__(self, keys):
            self.keys = keys

        async def run(self, task, cast):
            async def search():
                ran.append("async")
                return ["found"]

            assert await cast.effect(self.keys[0], search) == ["found"]
            await cast.effect(self.keys[1], lambda: ran.append("sync"))
            return Outcome(True, 1.0)

    (episode,) = play(Acts(["search/0", "log/0"]))
    assert ran == ["async", "sync"]
    assert episode.effects == {"search/0": ["found"], "log/0": None}
    with pytest.raises(WorkflowError, match="'same' happened already"):
        play(Acts(["same", "same"]))


def test_a_call_that_is_started_and_forgotten_is_refused(play):
    class Forgets(Vote):
        async def run(self, task, cast):
            self.task = asyncio.ensure_future(cast.judge.act("j0", score=half))
            await asyncio.sleep(0)
            return Outcome(True, 1.0)

    with pytest.raises(WorkflowError, match=r"acts from a task that it started.*role=judge"):
        play(Forgets(), ScriptedEngine(lambda *args: "x", yields=lambda request: 5))
