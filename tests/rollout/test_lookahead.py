"""Look-ahead against games whose values are worked out by hand, and independent sampling."""

from __future__ import annotations

import itertools

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.errors import ReplayError
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.lookahead import is_held, lookahead_cost
from motet.types import Outcome, Reward


class Relay:
    """a in {0, 1, 2}; b answers (2a + index) mod 3; the team gets b / 2."""

    roles = {"a": 1, "b": 1}

    async def run(self, task, cast):
        first = await cast.a.act("?")
        second = await cast.b.act(first.text, score=lambda text: Reward(local=0.25, notes=int(text)))
        return Outcome(second.notes == 2, second.notes / 2)


def relay(policy, prompt, index, uniform):
    return str(index) if policy == "a" else str((2 * int(prompt) + index) % 3)


def test_each_candidate_is_worth_the_outcome_of_its_own_continuation(play):
    (episode,) = play(Relay(), relay, rule="lookahead", width=3)
    first, second = episode.calls
    assert [c.reward.team for c in first.candidates] == [0.0, 1.0, 0.5]  # 2 * 0 = 0, 2 * 1 = 2, 2 * 2 = 4 = 1 mod 3
    assert [c.reward.local for c in first.candidates] == [None] * 3
    chosen = first.chosen
    assert [c.reward.team for c in second.candidates] == [((2 * chosen + j) % 3) / 2 for j in range(3)]
    assert [c.reward.local for c in second.candidates] == [0.25] * 3
    assert episode.outcome.team == int(second.text) / 2


def test_the_cost_is_counted_and_told_before(play):
    engine = ScriptedEngine(relay)
    (episode,) = play(Relay(), engine, rule="lookahead", width=3)
    assert (episode.extra_calls, episode.extra_tokens) == (3, 6)
    assert lookahead_cost(num_calls=2, width=3) == 3
    assert [len(request.keys) for request in engine.requests] == [3, 3, 1, 1, 1]


@pytest.mark.parametrize("num_calls", [1, 2, 5])
def test_the_cost_formula_is_what_runs(play, num_calls):
    class Chain:
        roles = {"a": 1}

        async def run(self, task, cast):
            for _ in range(num_calls):
                await cast.a.act("?")
            return Outcome(True, 1.0)

    (episode,) = play(Chain(), lambda *args: "x", rule="lookahead", width=4)
    assert episode.extra_calls == lookahead_cost(num_calls, 4) == 4 * num_calls * (num_calls - 1) // 2


class Panel:
    """Two voters side by side, then a sum: each voter's value holds the other one at its recorded choice."""

    roles = {"voter": 2, "adder": 1}
    effects_run = 0

    async def run(self, task, cast):
        await cast.effect("before", self.count)
        votes = await cast.gather(*(voter.act(f"v{slot}") for slot, voter in enumerate(cast.voter)))
        await cast.effect("after", self.count)
        total = await cast.adder.act("+".join(vote.text for vote in votes))
        return Outcome(True, int(total.text) / 10)

    def count(self):
        self.effects_run += 1
        return self.effects_run


def panel(policy, prompt, index, uniform):
    return str(index + 1) if policy == "voter" else str(sum(map(int, prompt.split("+"))))


def test_siblings_are_held_at_their_recorded_choice(play):
    workflow = Panel()
    (episode,) = play(workflow, panel, rule="lookahead", width=3)
    one, two, adder = episode.calls
    assert [c.reward.team for c in one.candidates] == [(v + int(two.text)) / 10 for v in (1, 2, 3)]
    assert [c.reward.team for c in two.candidates] == [(int(one.text) + v) / 10 for v in (1, 2, 3)]
    assert [c.reward.team for c in adder.candidates] == [(int(one.text) + int(two.text)) / 10] * 3
    assert episode.extra_calls == 6  # two voters of three candidates, one sum each
    assert workflow.effects_run == 2 + 6  # "before" is never run again, "after" once behind each voter candidate


def test_settled_and_frozen_calls_are_not_continued(play):
    class Settles(Relay):
        async def run(self, task, cast):
            first = await cast.a.act("?")
            second = await cast.b.act(first.text, score=lambda text: Reward(local=0.25))
            first.settle(lambda c: Reward(team=0.125))
            return Outcome(True, int(second.text) / 2)

    (episode,) = play(Settles(), relay, rule="lookahead", width=3)
    assert [c.reward.team for c in episode.calls[0].candidates] == [0.125] * 3
    assert episode.extra_calls == 0
    cast = Cast.explicit(Relay.roles, [PolicySpec("a", kind="frozen"), PolicySpec("b")], {"a": "a", "b": "b"})
    (episode,) = play(Relay(), relay, rule="lookahead", width=3, cast=cast)
    assert [len(call.candidates) for call in episode.calls] == [1, 3]
    assert episode.extra_calls == 0


def test_continuations_are_not_nested(play):
    engine = ScriptedEngine(lambda policy, prompt, index, uniform: str(index))

    class Chain:
        roles = {"a": 1}

        async def run(self, task, cast):
            for _ in range(4):
                await cast.a.act("?")
            return Outcome(True, 1.0)

    play(Chain(), engine, rule="lookahead", width=2)
    assert [len(r.keys) for r in engine.requests].count(2) == 4
    assert [len(r.keys) for r in engine.requests].count(1) == lookahead_cost(4, 2)
    assert len({r.keys for r in engine.requests}) == len(engine.requests)


def test_an_impure_workflow_is_caught_in_a_continuation(play):
    class Impure:
        roles = {"a": 1}
        counter = itertools.count()

        async def run(self, task, cast):
            await cast.a.act(f"{next(self.counter)}")
            await cast.a.act("then")
            return Outcome(True, 1.0)

    with pytest.raises(ReplayError, match=r"observation of a\[0\] turn 0 differs.*task=t-0.*role=a"):
        play(Impure(), lambda *args: "x", rule="lookahead", width=2)


def test_evaluation_does_not_look_ahead(play):
    (episode,) = play(Relay(), relay, rule="lookahead", phase="eval")
    assert [len(call.candidates) for call in episode.calls] == [1, 1]
    assert episode.extra_calls == 0


@pytest.mark.parametrize(
    ("order", "fork", "held"),
    [
        ((1,), (1,), False),
        ((1,), (2,), True),
        ((3,), (2,), False),
        ((2, 0, 5), (2, 1, 1), True),
        ((2, 1, 5), (2, 0, 1), True),
        ((2, 1, 2), (2, 1, 1), False),
        ((2, 1, 1, 0, 1), (2, 1, 1, 2, 3), True),
        ((3, 0, 1), (2, 1, 1), False),
    ],
)
def test_what_is_held_at_a_fork(order, fork, held):
    assert is_held(order, fork) is held


def test_independent_plays_k_whole_episodes_of_one_candidate(play, toys, digit):
    class Free:
        roles = {"a": 1, "b": 1}

        async def run(self, task, cast):
            first = await cast.a.act("?")
            second = await cast.b.act(first.text)
            return Outcome(True, int(second.text) / 10)

    episodes = play(Free(), digit, rule="independent", width=5, tasks=toys(2))
    assert [(e.task_id, e.branch) for e in episodes] == [(f"t-{i}", b) for i in range(2) for b in range(5)]
    assert {len(call.candidates) for e in episodes for call in e.calls} == {1}
    assert all(call.trainable for e in episodes for call in e.calls)
    assert len({e.calls[0].text for e in episodes}) > 3
    wide = play(Free(), digit, rule="independent", width=8, tasks=toys(2))
    assert [e for e in wide if e.branch < 5] == episodes
    assert len(play(Free(), digit, rule="independent", phase="eval")) == 1


def test_an_estimate_is_played_out_and_only_its_team_part_replaced(play):
    class Estimates(Relay):
        async def run(self, task, cast):
            first = await cast.a.act("?")
            second = await cast.b.act(first.text, score=lambda text: Reward(local=0.25))
            first.settle(lambda c: Reward(team=0.125, local=0.5, notes=c.text), estimate=True)
            return Outcome(True, int(second.text) / 2)

    (episode,) = play(Estimates(), relay, rule="lookahead", width=3)
    assert [(c.reward.team, c.reward.local) for c in episode.calls[0].candidates] == [
        (0.0, 0.5),
        (1.0, 0.5),
        (0.5, 0.5),
    ]
    assert (episode.calls[0].settled, episode.extra_calls) == (True, 3)
    (episode,) = play(Estimates(), relay, width=3)
    assert [c.reward.team for c in episode.calls[0].candidates] == [0.125] * 3
