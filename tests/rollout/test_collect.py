from __future__ import annotations

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.collect import collect, cost, has_signal
from motet.rollout.runner import run_batch
from motet.rollout.settings import RolloutSettings
from motet.types import Outcome, Reward


class OneWord:
    """Two calls; a candidate is worth 1 if it says "good"."""

    roles = {"a": 1}
    prompts: dict = {}

    async def run(self, task, cast):
        for _ in range(2):
            call = await cast.a.act(task.id, score=lambda text: Reward(local=float(text == "good")))
        return Outcome(call.text == "good", float(call.text == "good"))


def gather_batch(reply, toys, num, max_extra_trees, *, workflow=None, is_informative=None, **settings):
    engine, settings = ScriptedEngine(reply), RolloutSettings(**{"width": 2, **settings})
    cast = Cast.shared(OneWord.roles, PolicySpec("p"))

    def play(tasks):
        names = {"phase": "train", "ticket": 0, "seed": 0, "split": "train"}
        return run_batch(workflow or OneWord(), tasks, cast, {"local": engine}, settings, **names)

    chosen = {"max_extra_trees": max_extra_trees, "is_informative": is_informative}
    return collect(play, toys(num), settings, **chosen), engine


def test_trees_with_signal_are_kept_and_the_others_drawn_anew_as_new_copies(toys):
    reply = lambda policy, prompt, index, uniform: "good" if prompt == "t-0" and index == 0 else "bad"
    episodes, engine = gather_batch(reply, toys, 2, max_extra_trees=3)
    assert [(e.task_id, e.copy) for e in episodes] == [("t-0", 0), ("t-1", 3)]
    assert [cost(e) for e in episodes] == [(2 * (5 + 4), 2), (4 * 2 * 2 * 4, 2 + 3 * 2)]
    assert (episodes[0].extra_tokens, episodes[0].extra_calls) == (0, 0)
    assert (episodes[1].extra_tokens, episodes[1].extra_calls) == (48, 6)  # three trees of 2 calls, 2 x 4 tokens each
    assert len(engine.requests) == 2 + 2 + 3 * 2


def test_the_cap_is_on_the_batch_and_goes_to_the_first_trees(toys):
    episodes, _ = gather_batch(lambda *args: "bad", toys, 3, max_extra_trees=4)
    assert [e.copy for e in episodes] == [2, 1, 1]


def test_nothing_is_drawn_anew_without_a_cap(toys):
    episodes, engine = gather_batch(lambda *args: "bad", toys, 3, max_extra_trees=0)
    assert [e.copy for e in episodes] == [0, 0, 0]
    assert len(engine.requests) == 6


def test_a_redraw_stops_once_there_is_signal(toys):
    reply = lambda policy, prompt, index, uniform: "good" if uniform < 0.2 else "bad"
    episodes, _ = gather_batch(reply, toys, 12, max_extra_trees=500)
    settings = RolloutSettings(width=2)
    assert all(has_signal([episode], settings) for episode in episodes)
    assert sum(e.copy for e in episodes) < 100


def test_copies_that_are_there_already_are_not_reused(toys):
    [(name, task, _)] = toys(1)
    tasks = [(name, task, 0), (name, task, 1)]
    episodes, _ = gather_batch(lambda *args: "bad", lambda num: tasks, 2, max_extra_trees=2)
    assert [e.copy for e in episodes] == [2, 3]


def test_independent_trees_are_judged_and_replaced_whole(toys):
    episodes, _ = gather_batch(lambda *args: "bad", toys, 2, max_extra_trees=1, rule="independent", width=3)
    assert [(e.task_id, e.copy, e.branch) for e in episodes] == [
        ("t-0", 1, 0), ("t-0", 1, 1), ("t-0", 1, 2), ("t-1", 0, 0), ("t-1", 0, 1), ("t-1", 0, 2),
    ]  # fmt: skip
    assert [e.extra_calls for e in episodes] == [6, 0, 0, 0, 0, 0]


def test_the_predicate_of_the_caller_decides(toys):
    episodes, _ = gather_batch(lambda *args: "bad", toys, 2, 9, is_informative=lambda tree: tree[0].copy >= 2)
    assert [e.copy for e in episodes] == [2, 2]


@pytest.mark.parametrize(("alpha", "expected"), [(1.0, False), (0.5, True)])
def test_signal_is_in_the_mixed_reward(toys, alpha, expected):
    class Both(OneWord):
        async def run(self, task, cast):
            await cast.a.act("x", score=lambda text: Reward(team=0.5, local=float(text)))
            return Outcome(True, 1.0)

    tree, _ = gather_batch(lambda policy, prompt, index, uniform: str(index), toys, 1, 0, workflow=Both())
    assert has_signal(tree, RolloutSettings(width=2, alpha=alpha)) is expected
