import io
from dataclasses import replace

import pytest

from motet.errors import CheckpointError
from motet.tracking import Callbacks, Listener, MetricsFile, Progress, read_metrics, rollout_metrics
from motet.types import Call, CallKey, Candidate, Episode, Outcome, Reward


def candidate(num, finish="eos", team=None, local=None):
    reward = None if team is None and local is None else Reward(team=team, local=local)
    return Candidate("x", tuple(range(num)), (0.0,) * num, finish, reward)


def call(role, candidates, prompt=4, dropped=0):
    return Call(CallKey(role), role, 0, "tok", (1,) * prompt, tuple(candidates), 0, prompt_dropped=dropped)


def episode(calls, success, *, error=None, extra_tokens=0, extra_calls=0):
    outcome = None if error else Outcome(success, 1.0 if success else 0.25)
    return Episode(
        "set", "t", "train", "train", 0, 0, 0, tuple(calls), outcome,
        error=error, extra_tokens=extra_tokens, extra_calls=extra_calls,
    )  # fmt: skip


def test_rollout_metrics_are_those_counted_by_hand():
    planner = call("planner", [candidate(2, team=1.0), candidate(4, "length", team=0.0)], prompt=6, dropped=3)
    executor = call("executor", [candidate(3, team=0.5, local=0.25)])
    episodes = [
        episode([planner, executor], True, extra_tokens=7, extra_calls=1),
        episode([call("executor", [candidate(1, team=0.0, local=0.75)])], False),
        episode([], False, error="boom"),
    ]
    assert rollout_metrics(episodes) == {
        "rollout/episodes": 3,
        "rollout/failed_frac": 1 / 3,
        "rollout/success": 0.5,
        "rollout/team": 0.625,
        "rollout/calls": 4,
        "rollout/tokens": 17,
        "rollout/extra_tokens": 7,
        "reward/team/executor": 0.25,
        "reward/local/executor": 0.5,
        "rollout/answer_tokens/executor": 2.0,
        "rollout/truncated_frac/executor": 0.0,
        "rollout/prompt_tokens/executor": 4.0,
        "rollout/prompt_dropped_frac/executor": 0.0,
        "reward/team/planner": 0.5,
        "rollout/answer_tokens/planner": 3.0,
        "rollout/truncated_frac/planner": 0.5,
        "rollout/prompt_tokens/planner": 6.0,
        "rollout/prompt_dropped_frac/planner": 1.0,
    }


def test_each_of_several_task_sets_has_numbers_of_its_own():
    sums, grids = episode([], True), replace(episode([], False), task_set="grids")
    broken = replace(episode([], False, error="boom"), task_set="grids")
    found = rollout_metrics([sums, sums, grids, broken])
    assert {key: value for key, value in found.items() if key.count("/") == 2} == {
        "rollout/episodes/grids": 2,
        "rollout/success/grids": 0.0,
        "rollout/team/grids": 0.25,
        "rollout/episodes/set": 2,
        "rollout/success/set": 1.0,
        "rollout/team/set": 1.0,
    }


def test_one_task_set_has_no_numbers_of_its_own_beside_those_of_all():
    assert not [key for key in rollout_metrics([episode([], True)]) if key.endswith("/set")]


def test_a_task_set_whose_episodes_all_failed_has_a_count_and_no_success():
    broken = replace(episode([], False, error="boom"), task_set="grids")
    found = rollout_metrics([episode([], True), broken])
    assert found["rollout/episodes/grids"] == 1
    assert "rollout/success/grids" not in found and "rollout/team/grids" not in found


def test_metrics_are_lines_behind_one_with_the_schema(tmp_path):
    file = MetricsFile(tmp_path / "metrics.jsonl")
    file.on_iteration({"iteration": 1})
    file.on_evaluation({"iteration": 1, "validation/success/greedy": 0.5})
    assert read_metrics(tmp_path / "metrics.jsonl") == [
        {"iteration": 1},
        {"iteration": 1, "validation/success/greedy": 0.5},
    ]
    assert (tmp_path / "metrics.jsonl").read_text().startswith('{"schema": 1')


@pytest.mark.parametrize("broken", ['{"iteration": 2', "[1]", "\x00\x00", '{"iteration": 2}}'])
def test_metrics_that_are_broken_are_refused_with_the_line(tmp_path, broken):
    path = tmp_path / "metrics.jsonl"
    MetricsFile(path).on_iteration({"iteration": 1})
    with path.open("a") as file:
        file.write(broken + "\n")
    with pytest.raises(CheckpointError, match=r"the metrics cannot be read.*line=3"):
        read_metrics(path)


ABOUT = {"iterations": 4, "iteration": 0, "lines": ["run x"], "cast": [("planner", "p", "local")]}
METRICS = {
    "iteration": 2,
    "rollout/success": 0.25,
    "reward/team/planner": 0.5,
    "reward/local/planner": 0.125,
    "reward/team/executor": 0.75,
    "time/tokens_per_s": 1234.4,
}


def test_progress_is_one_plain_line_per_iteration_where_the_output_is_no_terminal():
    stream = io.StringIO()
    progress = Progress(stream)
    progress.on_start(ABOUT)
    progress.on_iteration(METRICS)
    progress.on_evaluation({"iteration": 2, "validation/success/greedy": 0.5, "validation/success/sampled": 0.25})
    progress.on_note("iteration 2: planner: no signal")
    progress.on_end({})
    lines = stream.getvalue().splitlines()
    assert lines[0] == "run x"
    assert ["planner", "p", "local"] in [line.replace("│", " ").split() for line in lines]
    assert lines[-3] == (
        "iteration 2/4  success 0.250  executor team 0.750 local -  planner team 0.500 local 0.125  "
        "1234 tokens/s  0:00 left"
    )
    assert lines[-2] == "iteration 2/4  validation success greedy 0.500  sampled 0.250"
    assert lines[-1] == "iteration 2: planner: no signal"
    assert "\x1b" not in stream.getvalue()


def test_callbacks_are_told_in_order_and_a_listener_may_hear_one_thing_only():
    heard = []

    class Ears(Listener):
        def __init__(self, name):
            self.name = name

        def on_iteration(self, metrics):
            heard.append((self.name, metrics["iteration"]))

    both = Callbacks([Ears("a"), Ears("b")])
    both.on_start(ABOUT)
    both.on_iteration(METRICS)
    both.on_end({})
    assert heard == [("a", 2), ("b", 2)]
