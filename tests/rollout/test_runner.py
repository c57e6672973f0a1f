"""The batch: side by side, bounded, with failures that are named and counted."""

from __future__ import annotations

import asyncio
import threading
import time
from fractions import Fraction

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.errors import EngineError, RewardError, WorkflowError
from motet.types import Outcome, Reward


class Talk:
    roles = {"a": 1, "b": 2}

    def __init__(self, score=None):
        self.score = score or (lambda text: Reward(local=int(text) / 10))

    async def run(self, task, cast):
        said = ""
        for _ in range(2):
            one = await cast.a.act(f"a{said}", score=self.score)
            two = await cast.gather(*(b.act(f"b{said}{one.text}", score=self.score) for b in cast.b))
            said += one.text + two[0].text + two[1].text
        return Outcome(said[-1] > "4", int(said[-1]) / 10)


def test_the_same_episodes_at_1_4_and_64_at_once(play, toys, digit):
    jitter = ScriptedEngine(digit, yields=lambda request: request.keys[0] % 17)
    one = play(Talk(), digit, tasks=toys(64), max_parallel=1)
    assert one == play(Talk(), jitter, tasks=toys(64), max_parallel=4)
    assert one == play(Talk(), jitter, tasks=toys(64), max_parallel=64)


def test_the_same_episode_in_any_company(play, toys, digit):
    tasks = toys(9)
    assert play(Talk(), digit, tasks=tasks)[5] == play(Talk(), digit, tasks=[tasks[5]])[0]


@pytest.mark.parametrize("change", [{"seed": 1}, {"ticket": 4}, {"phase": "eval"}])
def test_seed_ticket_and_phase_change_what_is_drawn(play, digit, change):
    (one,), (two,) = play(Talk(), digit), play(Talk(), digit, **change)
    assert [c.text for call in one.calls for c in call.candidates[:1]] != [
        c.text for call in two.calls for c in call.candidates[:1]
    ]


def test_copies_of_a_task_draw_differently_and_one_copy_twice_is_refused(play, toys, digit):
    [(name, task, _)] = toys(1)
    one, two = play(Talk(), digit, tasks=[(name, task, 0), (name, task, 1)])
    assert one.tree != two.tree
    assert [call.text for call in one.calls] != [call.text for call in two.calls]
    with pytest.raises(WorkflowError, match="the same tree twice"):
        play(Talk(), digit, tasks=[(name, task, 0), (name, task, 0)])


def test_at_most_max_parallel_episodes_at_once(play, toys):
    running, most = [0], [0]

    class Counts(Talk):
        async def run(self, task, cast):
            running[0] += 1
            most[0] = max(most[0], running[0])
            await asyncio.sleep(0.001)
            running[0] -= 1
            return Outcome(True, 1.0)

    play(Counts(), tasks=toys(20), max_parallel=6)
    assert most[0] == 6


def test_it_works_inside_a_running_loop(play, digit):
    async def notebook():
        return play(Talk(), digit)

    assert asyncio.run(notebook()) == play(Talk(), digit)


def test_an_empty_batch_gives_no_episode(play):
    assert play(Talk(), tasks=[]) == []


class Breaks(Talk):
    """Fails on the tasks named."""

    def __init__(self, *names):
        super().__init__()
        self.names = names

    async def run(self, task, cast):
        call = await cast.a.act("a", score=self.score)
        if task.id in self.names:
            raise TypeError("no such field")
        return Outcome(True, int(call.text) / 10)


def test_case_07_an_exception_stops_the_run_and_names_task_role_and_turn(play, toys, digit):
    with pytest.raises(WorkflowError, match=r"TypeError: no such field \[task=t-2 role=a slot=0 turn=0\]") as caught:
        play(Breaks("t-2"), digit, tasks=toys(4))
    assert isinstance(caught.value.__cause__, TypeError)


def test_case_07_a_bounded_fraction_may_fail_and_gives_nothing(play, toys, digit):
    episodes = play(Breaks("t-2"), digit, tasks=toys(4), max_failed_frac=0.25)
    failed = episodes[2]
    assert [episode.error is None for episode in episodes] == [True, True, False, True]
    assert (failed.calls, failed.outcome, failed.task_id) == ((), None, "t-2")
    assert "TypeError: no such field" in failed.error
    with pytest.raises(WorkflowError, match=r"2 of 4 episodes failed, 1 may; the last: .*TypeError.*task=t-3"):
        play(Breaks("t-2", "t-3"), digit, tasks=toys(4), max_failed_frac=0.25, max_parallel=1)


def test_case_07_all_rollouts_failing_never_passes_for_an_empty_batch(play, toys, digit):
    with pytest.raises(WorkflowError, match="TypeError"):
        play(Breaks("t-0", "t-1"), digit, tasks=toys(2), max_failed_frac=0.5)


@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda text: 1 / 0, "score raised ZeroDivisionError"),
        (lambda text: 0.5, "score returned 0.5, not a Reward"),
        (lambda text: None, "score returned None, not a Reward"),
        (lambda text: Reward(local=1.25), "local reward is 1.25"),
        (lambda text: Reward(local=float("nan")), "local reward is nan"),
        (lambda text: exit(3), "SystemExit"),
    ],
)
def test_a_score_that_gives_no_reward_is_named_and_nothing_is_invented(play, digit, score, message):
    with pytest.raises(RewardError, match=rf"{message}.*task=t-0 role=a slot=0 turn=0 candidate=0"):
        play(Talk(score), digit)


def test_a_score_that_never_returns_is_bounded_and_named(play):
    release = threading.Event()
    reply = lambda policy, prompt, index, uniform: str(index)
    started = time.monotonic()
    with pytest.raises(
        RewardError, match=r"score timed out: no result within 0.5 s .*task=t-0 role=a slot=0 turn=0 candidate=2"
    ):
        play(Talk(lambda text: release.wait() if text == "2" else Reward(local=0.5)), reply, score_timeout_s=0.5)
    assert time.monotonic() - started < 20.0
    release.set()


def test_an_async_score_is_awaited_under_the_same_limit(play, digit):
    async def fine(text):
        await asyncio.sleep(0.001)
        return Reward(local=int(text) / 10)

    async def slow(text):
        await asyncio.sleep(30)

    assert play(Talk(fine), digit) == play(Talk(), digit)
    with pytest.raises(RewardError, match=r"score timed out.*role=a.*candidate=0"):
        play(Talk(slow), digit, score_timeout_s=0.05)


def test_scores_run_off_the_event_loop_all_candidates_of_a_call_in_one_thread(play, digit):
    seen = []

    def score(text):
        seen.append(threading.get_ident())
        return Reward(local=0.5)

    class Once(Talk):
        async def run(self, task, cast):
            await cast.a.act("a", score=score)
            self.loop_thread = threading.get_ident()
            return Outcome(True, 1.0)

    workflow = Once()
    play(workflow, digit)
    assert len(seen) == 4
    assert len(set(seen)) == 1
    assert workflow.loop_thread not in seen


def test_a_slow_score_does_not_hold_up_the_others(play, toys):
    others_done = threading.Event()
    done = []

    def score(text):
        if text == "slow":
            others_done.wait()
        return Reward(local=0.5)

    class Notes(Talk):
        async def run(self, task, cast):
            await cast.a.act(task.id, score=score)
            done.append(task.id)
            if len(done) == 2:
                others_done.set()
            return Outcome(True, 1.0)

    play(Notes(), lambda policy, prompt, index, uniform: "slow" if prompt == "t-1" else "x", tasks=toys(3), width=1)
    assert done == ["t-0", "t-2", "t-1"]


def test_an_engine_failure_and_a_short_answer_are_named(play):
    class Short(ScriptedEngine):
        async def sample(self, request):
            return (await super().sample(request))[1:]

    with pytest.raises(EngineError, match=r"3 answers, 4 were asked for.*task=t-0.*role=a"):
        play(Talk(), Short(lambda *args: "1"))
    with pytest.raises(WorkflowError, match=r"the engine raised IndexError.*task=t-0 role=a"):
        play(Talk(), lambda *args: ""[0])


def test_what_run_returns_is_checked(play):
    class Says(Talk):
        async def run(self, task, cast):
            return 1.0

    with pytest.raises(WorkflowError, match=r"run returned 1.0.*t-0.*Outcome"):
        play(Says())


def test_a_cancelled_batch_leaves_no_task_and_ignores_late_answers(toys, digit):
    from motet.policies.cast import Cast, PolicySpec
    from motet.rollout.runner import RolloutSettings, play_batch
    from motet.rollout.scene import Scene
    from motet.rollout.scoring import ScorePool

    workflow = Talk()
    workflow.prompts = {}

    class Late(ScriptedEngine):
        async def sample(self, request):
            await asyncio.sleep(0.2)
            return await super().sample(request)

    async def main():
        cast = Cast.shared(workflow.roles, PolicySpec("x"))
        scene = Scene(cast, {"local": Late(digit)}, RolloutSettings(), {}, ScorePool(), "train", 0, 0, "train")
        batch = asyncio.ensure_future(play_batch(scene, workflow, toys(5)))
        await asyncio.sleep(0.02)
        batch.cancel()
        with pytest.raises(asyncio.CancelledError):
            await batch
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(main()) == set()


class Leaves(Talk):
    """Ends an episode the way `end` does, after one call."""

    def __init__(self, end):
        super().__init__()
        self.end = end

    async def run(self, task, cast):
        await cast.a.act("a", score=self.score)
        return await self.end(cast)


async def cancels_itself(cast):
    raise asyncio.CancelledError


async def exits(cast):
    exit(0)


async def groups(cast):
    raise ExceptionGroup("two", [ExceptionGroup("one", [KeyError("gone")]), ValueError("late")])


@pytest.mark.parametrize(
    ("end", "message"),
    [(cancels_itself, "CancelledError"), (exits, "SystemExit: 0"), (groups, "KeyError: 'gone'")],
)
def test_whatever_ends_a_workflow_is_an_error_with_its_place_and_never_a_quiet_end(play, end, message):
    with pytest.raises(WorkflowError, match=rf"the workflow raised {message}.*task=t-0 role=a slot=0 turn=0"):
        play(Leaves(end))


async def plain_gather(cast):
    await asyncio.gather(*(b.act("b", score=lambda text: Reward(local=0.5)) for b in cast.b))
    return Outcome(True, 1.0)


async def own_task(cast):
    await asyncio.create_task(cast.b[0].act("b", score=lambda text: Reward(local=0.5)))
    return Outcome(True, 1.0)


async def task_group(cast):
    async with asyncio.TaskGroup() as group:
        group.create_task(cast.b[0].act("b", score=lambda text: Reward(local=0.5)))
    return Outcome(True, 1.0)


@pytest.mark.parametrize("end", [plain_gather, own_task, task_group])
def test_a_call_from_a_task_that_the_workflow_started_itself_is_refused_and_points_to_gather(play, end):
    with pytest.raises(WorkflowError, match=r"order of its calls would be chance.*task=t-0 role=b.*cast\.gather"):
        play(Leaves(end))


def test_scalars_of_any_library_are_numbers_and_nothing_else_is(play):
    torch = pytest.importorskip("torch")
    import numpy as np

    for half in (np.float32(0.5), np.float64(0.5), np.array(0.5), torch.tensor(0.5), Fraction(1, 2)):
        assert Reward(team=half) == Reward(team=0.5) and type(Reward(team=half).team) is float
    assert Reward(team=np.bool_(True), local=np.int64(0)) == Reward(team=1.0, local=0.0)
    assert Outcome(np.bool_(True), torch.tensor(1.0)) == Outcome(True, 1.0)
    for bad in ("0.5", b"1", [0.5], np.array([0.5]), 1j, float("inf"), np.float32("nan"), torch.tensor(2.0), object()):
        with pytest.raises(RewardError, match="team reward is"):
            Reward(team=bad)


def test_an_outcome_without_a_team_reward_is_refused():
    with pytest.raises(RewardError, match="the outcome has no team reward"):
        Outcome(True, None)


def test_a_huge_value_in_a_wrong_place_does_not_flood_the_message(play, digit):
    with pytest.raises(RewardError) as caught:
        play(Talk(lambda text: "x" * 10**6), digit)
    assert len(str(caught.value)) < 500


def test_a_failure_that_the_workflow_swallows_still_ends_the_episode(play, digit):
    class Swallows(Talk):
        async def run(self, task, cast):
            try:
                await cast.a.act("a", score=lambda text: 1 / 0)
            except Exception:  # noqa: BLE001 - what a careless workflow does
                return Outcome(True, 1.0)

    with pytest.raises(RewardError, match=r"score raised ZeroDivisionError.*task=t-0 role=a slot=0 turn=0"):
        play(Swallows(), digit)


def test_a_workflow_whose_loop_never_ends_is_bounded_and_named(play, digit, monkeypatch):
    class Endless(Talk):
        async def run(self, task, cast):
            while True:
                await cast.a.act("a", score=self.score)

    monkeypatch.setattr("motet.rollout.act.MAX_CALLS", 50)
    with pytest.raises(WorkflowError, match=r"an episode of more than 50 calls.*task=t-0 role=a slot=0 turn=50"):
        play(Endless(), digit)


def test_a_workflow_that_blocks_the_loop_makes_no_score_late(play, toys, digit):
    class Blocks(Talk):
        async def run(self, task, cast):
            call = await cast.a.act(task.id, score=lambda text: Reward(local=0.5))
            time.sleep(0.15)
            return Outcome(True, int(call.text) / 10)

    assert len(play(Blocks(), digit, tasks=toys(4), score_timeout_s=0.05)) == 4
