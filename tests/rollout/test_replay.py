from __future__ import annotations

from dataclasses import replace

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.errors import ReplayError
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.records import read_episodes, write_episodes
from motet.rollout.replay import replay
from motet.types import Outcome, Reward


class Game:
    roles = {"a": 1, "b": 2}
    prompts: dict = {}

    def __init__(self, show=str, score=None, settle=True, extra=False):
        self.show, self.settle, self.extra = show, settle, extra
        self.score = score or (lambda text: Reward(local=int(text) / 10, notes=(int(text), "note")))
        self.searches = 0

    def search(self):
        self.searches += 1
        return {"hits": self.searches}

    async def run(self, task, cast):
        plan = await cast.a.act("plan")
        hits = await cast.effect("search/0", self.search)
        parts = await cast.gather(*(b.act(self.show(f"{plan.text}{hits}"), score=self.score) for b in cast.b))
        assert parts[0].notes[1] == "note"
        if self.extra:
            await cast.a.act("more", score=self.score)
        if self.settle:
            plan.settle(lambda text, index: Reward(team=int(text) / 10))
        return Outcome(True, parts[0].notes[0] / 10)


def again(workflow, episode, task, **settings):
    engine = ScriptedEngine(lambda *args: pytest.fail("a replay samples nothing"))
    cast = Cast.per_role(Game.roles, PolicySpec("x"))
    return replay(workflow, task, episode, cast, {"local": engine}, **settings)


@pytest.fixture
def recorded(play, toys, digit):
    [(_, task, _)] = toys(1)
    (episode,) = play(Game(), digit)
    return task, episode


def test_a_pure_workflow_replays_to_the_same_episode_and_does_nothing_twice(recorded):
    task, episode = recorded
    workflow = Game()
    assert again(workflow, episode, task) == episode
    assert workflow.searches == 0


def test_a_replay_works_from_the_file(recorded, tmp_path):
    task, episode = recorded
    write_episodes(tmp_path / "episodes.jsonl.gz", [episode])
    (read,) = read_episodes(tmp_path / "episodes.jsonl.gz")
    assert again(Game(), read, task) == episode


@pytest.mark.parametrize(
    ("workflow", "message"),
    [
        (
            lambda: Game(show=lambda text: text + "!"),
            r"observation of b\[0\] turn 0 differs .* at token \d+ .*task=t-0 role=b slot=0 turn=0",
        ),
        (lambda: Game(extra=True), r"the record has no call a\[0\] turn 1"),
        (
            lambda: Game(score=lambda text: Reward(local=0.5, notes=(int(text), "note"))),
            r"reward is .*0.5.*role=b slot=0 turn=0 candidate=\d",
        ),
        (lambda: Game(score=lambda text: Reward(local=int(text) / 10, notes=(10, "note"))), "outcome is"),
        (lambda: Game(settle=False), r"reward is \(team, local\) = \(None, None\).*role=a"),
    ],
)
def test_a_replay_that_differs_names_the_call(recorded, workflow, message):
    task, episode = recorded
    with pytest.raises(ReplayError, match=message):
        again(workflow(), episode, task)


def test_calls_and_effects_that_the_record_has_in_excess_or_lacks_are_named(recorded, play, digit):
    task, episode = recorded
    with pytest.raises(ReplayError, match="no effect 'search/0'"):
        again(Game(), replace(episode, effects={}), task)
    (longer,) = play(Game(extra=True), digit)
    with pytest.raises(ReplayError, match=r"did not make this call again.*role=a slot=0 turn=1"):
        again(Game(), longer, task)


def test_rewards_may_be_left_unchecked(recorded):
    task, episode = recorded
    noisy = Game(score=lambda text: Reward(local=0.5, notes=(int(text), "note")))
    replayed = again(noisy, episode, task, should_check_rewards=False)
    assert [call.chosen for call in replayed.calls] == [call.chosen for call in episode.calls]
