"""Evaluation: one candidate per call, and no reward influences anything."""

from __future__ import annotations

import time

import pytest

from motet.errors import RewardError
from motet.types import Outcome, Reward


class Game:
    """Moves are read from the text, by the workflow itself, by `read`, or from the notes of the score."""

    roles = {"planner": 1, "executor": 1}

    def __init__(self, style, score):
        self.style, self.score = style, score

    async def run(self, task, cast):
        said = []
        for _ in range(2):
            for role in ("planner", "executor"):
                if self.style == "read":
                    call = await cast[role].act(f"{said}", read=int, score=self.score)
                    said = [*said, call.notes]
                else:
                    call = await cast[role].act(f"{said}", score=self.score)
                    said = [*said, int(call.text) if self.style == "text" else call.notes]
        return Outcome(said[-1] > 4, said[-1] / 10)


def raises(seen):
    raise ZeroDivisionError("the judge is broken")


def hangs(seen):
    time.sleep(1.0)


@pytest.mark.parametrize("broken", [raises, hangs, lambda seen: Reward(team=float("nan")), lambda seen: 0.5])
@pytest.mark.parametrize("style", ["text", "read"])
def test_the_same_actions_whatever_the_score_does(play, toys, digit, style, broken):
    good = play(Game(style, lambda seen: Reward(team=int(seen) / 10)), digit, phase="eval", tasks=toys(2))
    bad = play(Game(style, broken), digit, phase="eval", tasks=toys(2), score_timeout_s=0.05)
    for first, second in zip(good, bad):
        assert [call.text for call in first.calls] == [call.text for call in second.calls]
        assert [call.prompt_ids for call in first.calls] == [call.prompt_ids for call in second.calls]
        assert first.outcome == second.outcome
    assert {c.reward.team for e in bad for call in e.calls for c in call.candidates} == {None}
    assert all(c.reward.team is not None for e in good for call in e.calls for c in call.candidates)


def test_one_candidate_per_call_and_no_row_to_learn_from(play, digit):
    (episode,) = play(Game("read", lambda seen: Reward(team=1.0)), digit, phase="eval", width=8)
    assert {(len(call.candidates), call.chosen, call.trainable) for call in episode.calls} == {(1, 0, False)}


def test_notes_that_a_broken_score_should_have_made_are_not_invented(play, digit):
    with pytest.raises(RewardError, match=r"ZeroDivisionError.*t-0.*planner.*turn=0"):
        play(Game("notes", raises), digit, phase="eval")


def test_training_stops_at_a_broken_score(play, digit):
    with pytest.raises(
        RewardError, match=r"ZeroDivisionError: the judge is broken \[task=t-0 role=planner slot=0 turn=0 candidate=0\]"
    ):
        play(Game("read", raises), digit)


def test_a_broken_read_stops_evaluation_too(play):
    with pytest.raises(RewardError, match=r"read raised ValueError.*planner"):
        play(Game("read", lambda seen: Reward(team=1.0)), lambda *args: "x", phase="eval")


def test_score_gets_what_read_gave(play, digit):
    (episode,) = play(Game("read", lambda seen: Reward(team=seen / 10, notes="ignored")), digit)
    for call in episode.calls:
        assert [c.reward.notes for c in call.candidates] == [int(c.text) for c in call.candidates]
        assert [c.reward.team for c in call.candidates] == [int(c.text) / 10 for c in call.candidates]


def test_a_broken_settle_is_left_out_in_evaluation(play, digit):
    class Settles:
        roles = {"planner": 1}

        async def run(self, task, cast):
            call = await cast.planner.act("p")
            call.settle(raises)
            return Outcome(True, 1.0)

    (episode,) = play(Settles(), digit, phase="eval")
    assert episode.calls[0].candidates[0].reward is None
