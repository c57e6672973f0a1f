"""Worth that comes late."""

from __future__ import annotations

import time

import pytest

from motet.errors import RewardError, WorkflowError
from motet.types import Outcome, Reward


def distinct(policy, prompt, index, uniform):
    return str(index)


class Late:
    """The planner is judged after the executor spoke."""

    roles = {"planner": 1, "executor": 1}

    def __init__(self, settle):
        self.settle = settle

    async def run(self, task, cast):
        plan = await cast.planner.act("p", score=lambda text: Reward(notes=f"<{text}>"))
        move = await cast.executor.act("e", score=lambda text: Reward(local=0.5))
        result = self.settle(plan, int(move.text))
        if result is not None:
            await result
        assert plan.notes == f"<{plan.text}>"
        return Outcome(True, 1.0)


@pytest.mark.parametrize(
    "settle",
    [
        lambda plan, move: plan.settle(lambda text, index: Reward(team=int(text) / 10 + index / 10)),
        lambda plan, move: plan.settle(lambda candidate: Reward(team=2 * int(candidate.text) / 10)),
        lambda plan, move: plan.settle([Reward(team=value) for value in (0.0, 0.2, 0.4, 0.6)]),
        lambda plan, move: plan.settle_off_loop(lambda candidate: Reward(team=2 * int(candidate.text) / 10)),
    ],
)
def test_settle_reaches_winner_and_losers_and_keeps_notes(play, settle):
    (episode,) = play(Late(settle), distinct)
    plan, move = episode.calls
    assert [c.reward.team for c in plan.candidates] == [0.0, 0.2, 0.4, 0.6]
    assert [c.reward.notes for c in plan.candidates] == ["<0>", "<1>", "<2>", "<3>"]
    assert (plan.settled, move.settled) == (True, False)


def test_the_choice_before_the_worth_is_random_by_counter_and_the_same_twice(play, toys):
    settle = lambda plan, move: plan.settle(lambda c: Reward(team=int(c.text) / 3))
    first = [e.calls[0].chosen for e in play(Late(settle), distinct, tasks=toys(24))]
    again = [e.calls[0].chosen for e in play(Late(settle), distinct, tasks=toys(24))]
    assert first == again
    assert set(first) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("settle", "error", "message"),
    [
        (lambda plan, move: plan.settle([Reward(team=1.0)]), RewardError, "1 rewards for 4 candidates.*planner"),
        (lambda plan, move: plan.settle(lambda c: 0.5), RewardError, "settle returned 0.5, not a Reward.*planner"),
        (lambda plan, move: plan.settle(lambda c: Reward(team=float("nan"))), RewardError, "nan.*t-0.*planner"),
        (lambda plan, move: plan.settle(lambda c: 1 / 0), RewardError, "ZeroDivisionError.*planner.*turn=0"),
        (
            lambda plan, move: plan.settle(lambda text, i: Reward(team=1.0 if i else None)),
            RewardError,
            "some candidates only.*candidate=0",
        ),
        (
            lambda plan, move: [plan.settle([Reward(team=1.0)] * 4), plan.settle([Reward(team=1.0)] * 4)],
            WorkflowError,
            "has its rewards already",
        ),
    ],
)
def test_a_bad_settle_names_task_role_and_turn(play, settle, error, message):
    with pytest.raises(error, match=message):
        play(Late(settle), distinct)


def test_settle_off_the_loop_is_bounded(play):
    with pytest.raises(RewardError, match=r"timed out.*planner"):
        play(Late(lambda plan, move: plan.settle_off_loop(lambda c: time.sleep(1.0))), distinct, score_timeout_s=0.05)


def test_settling_a_scored_call_or_an_ended_episode_is_refused(play):
    kept = []

    class Keeps(Late):
        async def run(self, task, cast):
            call = await cast.planner.act("p", score=lambda text: Reward(local=1.0))
            kept.append(call)
            if self.settle:
                call.settle([Reward(team=1.0)] * 4)
            return Outcome(True, 1.0)

    with pytest.raises(WorkflowError, match="has its rewards already"):
        play(Keeps(True), distinct)
    play(Keeps(False), distinct)
    with pytest.raises(WorkflowError, match="after the episode ended"):
        kept[-1].settle([Reward(team=1.0)] * 4)
