"""Whole runs with a model of a few thousand random weights."""

import asyncio
import gzip
import json
import shutil
import sys
import time
from pathlib import Path
from typing import ClassVar

import pytest

import motet
from motet.api import train
from motet.build import prepare
from motet.config import load
from motet.errors import CheckpointError, ConfigError, MotetError
from motet.loop import Clock
from motet.rollout.records import read_episodes
from motet.session import start
from motet.tracking import Listener, read_metrics

sys.path.insert(0, str(Path(__file__).parent))
from run_files import same, timeless, weights

QUICK = ["sampling.width=3", "sampling.trees=3", "train.eval_tasks=3", "evaluate.at_end=false", "threads=1"]


@pytest.fixture
def run(tiny_folder, tmp_path):
    """Runs the recipe `smoke` with overrides under tmp_path; `stop_after` stops it after that iteration."""

    def run(*overrides, stop_after=None, resume=False, callbacks=(), runs="runs"):
        heard = Ears()
        prepared = prepare(load("smoke", [f"model={tiny_folder}", *QUICK, *overrides]))
        report = start(
            prepared,
            runs=tmp_path / runs,
            resume=resume,
            callbacks=[heard, *callbacks],
            should_stop=lambda: heard.iteration == stop_after,
        )
        return report, heard

    return run


class Ears(Listener):
    def __init__(self):
        self.iteration, self.notes, self.about = 0, [], None

    def on_start(self, about):
        self.about = about

    def on_iteration(self, metrics):
        self.iteration = metrics["iteration"]

    def on_note(self, text):
        self.notes.append(text)


@pytest.mark.slow
def test_the_same_settings_twice_give_identical_metrics_episodes_and_weights(run):
    first, _ = run()
    again, _ = run(runs="elsewhere")
    same(first.folder, again.folder)
    other, _ = run("seed=1")
    assert timeless(first.folder) != timeless(other.folder)


@pytest.mark.slow
def test_the_number_of_episodes_at_once_changes_nothing(run):
    more = "sampling.trees=9"
    one, _ = run(more, "sampling.max_parallel=1")
    for number in (4, 64):
        many, _ = run(more, f"sampling.max_parallel={number}")
        same(one.folder, many.folder)


@pytest.mark.slow
@pytest.mark.parametrize("stop_after", [1, 2])
@pytest.mark.parametrize(
    "cast",
    [
        "cast=per_role",
        "policy={kind: lora, rank: 3}",
        "policies={planner: {kind: lora, rank: 2}, executor: {kind: full}}",
        "update={updates_per_iteration: 2, schedule: linear, warmup: 2, kl: 0.1, weight_decay: 0.1}",
    ],
)
def test_case_20_a_run_stopped_at_any_iteration_and_resumed_is_the_run_not_stopped(run, stop_after, cast):
    whole, _ = run(cast, runs="whole")
    stopped, heard = run(cast, stop_after=stop_after)
    assert stopped.stopped and stopped.iterations == stop_after and stopped.result is None
    assert any("Go on with --resume" in note for note in heard.notes)
    resumed, heard = run(cast, resume=True)
    assert heard.about["iteration"] == stop_after and not resumed.stopped
    assert resumed.folder == stopped.folder
    same(whole.folder, resumed.folder)


@pytest.mark.slow
def test_what_was_written_after_the_last_checkpoint_is_taken_back_on_resume(run):
    whole, _ = run(runs="whole")
    crashed, _ = run()
    shutil.rmtree(crashed.folder.checkpoints / "iteration-000003")
    with crashed.folder.metrics.open("a") as file:
        file.write('{"iteration": 9')
    resumed, _ = run(resume=True)
    same(whole.folder, resumed.folder)


@pytest.mark.slow
def test_resuming_with_other_settings_is_refused_and_names_them(run):
    run(stop_after=1)
    with pytest.raises(ConfigError, match=r"other settings: credit.alpha \(0.7 then, 0.5 now\)"):
        run("credit.alpha=0.5", resume=True)


@pytest.mark.slow
def test_a_finished_run_can_be_given_more_iterations(run):
    longer, _ = run("train.iterations=4", runs="longer")
    run("train.iterations=3")
    more, _ = run("train.iterations=4", resume=True)
    assert timeless(more.folder)[-1]["iteration"] == 4
    assert weights(more.folder) == weights(longer.folder)


def test_resuming_without_a_checkpoint_or_a_run_is_refused(run):
    with pytest.raises(CheckpointError, match="no run 'smoke' to resume"):
        run(resume=True)


class Broken(motet.Workflow):
    """Raises on every task."""

    roles: ClassVar = {"planner": 1}

    async def run(self, task, cast):
        raise TypeError("to_dict takes no argument")


class Constant(motet.Workflow):
    """Every candidate is worth the same."""

    roles: ClassVar = {"planner": 1}

    async def run(self, task, cast):
        await cast.planner.act("goal c01", score=lambda text: motet.Reward(team=0.5, local=0.25))
        return motet.Outcome(success=False, team=0.5)


def quick_train(workflow, tiny_folder, tmp_path, **settings):
    heard = Ears()
    report = train(
        workflow,
        "plan_path",
        model=str(tiny_folder),
        runs=tmp_path,
        callbacks=[heard],
        role={"max_tokens": 3},
        sampling={"width": 2, "trees": 2},
        train={"iterations": 2},
        evaluate={"at_end": False},
        threads=1,
        **settings,
    )
    return report, heard


def test_case_07_a_workflow_that_always_raises_stops_the_run_with_the_error(tiny_folder, tmp_path):
    with pytest.raises(MotetError, match="to_dict takes no argument") as caught:
        quick_train(Broken, tiny_folder, tmp_path)
    assert "plan_path-train-" in str(caught.value)


def test_case_21_a_step_without_signal_is_stated_and_changes_no_weight(tiny_folder, tmp_path):
    report, heard = quick_train(Constant, tiny_folder, tmp_path)
    assert "iteration 1: no signal: none of 2 groups has a difference that counts" in heard.notes
    lines = timeless(report.folder)
    assert [line["credit/has_signal"] for line in lines] == [0.0, 0.0]
    assert [line["update/version/planner"] for line in lines] == [0.0, 0.0]
    assert lines[0]["update/updates/planner"] == 0.0 and lines[0]["credit/equal_groups_frac"] == 1.0


def test_the_function_works_where_an_event_loop_runs_already(tiny_folder, tmp_path):
    async def notebook():
        return quick_train(Constant(), tiny_folder, tmp_path)

    report, heard = asyncio.run(notebook())
    assert report.iterations == 2 and heard.iteration == 2
    assert "Constant" in report.folder.config.read_text()


def test_every_run_says_which_role_speaks_with_which_policy_and_engine(run):
    _, heard = run("cast={planner: both, executor: both}", "train.iterations=0")
    assert heard.about["cast"] == [("planner", "both", "local"), ("executor", "both", "local")]


@pytest.mark.slow
def test_a_mix_of_full_lora_and_frozen_policies_trains_what_it_should(run):
    text = "{planner: a, executor: b}"
    report, heard = run(f"cast={text}", "policies={a: {kind: lora, rank: 2}, b: {kind: frozen}}")
    last = timeless(report.folder)[-2]
    assert "update/version/a" in last and "update/version/b" not in last
    episodes = read_episodes(report.folder.episodes)
    widths = {(call.key.role, len(call.candidates)) for episode in episodes for call in episode.calls}
    assert widths == {("planner", 3), ("executor", 1)}
    assert any("lora, " in line for line in heard.about["lines"])


@pytest.mark.slow
def test_a_whole_run_leaves_a_result_of_the_fixed_names_and_a_report(run):
    report, _ = run("evaluate.at_end=true", "evaluate.num_tasks=4", "evaluate.variants=[all]")
    result = json.loads(report.folder.result.read_text())
    assert {"schema", "evaluations", "train_seconds", "seed", "settings_hash", "versions", "hardware"} <= set(result)
    team = [one for one in result["evaluations"] if one["name"] == "team"]
    assert [(one["decoding"], one["checkpoint"]) for one in team] == [
        ("sampled", "base"),
        ("greedy", "base"),
        ("sampled", "final"),
        ("greedy", "final"),
    ]
    fixed = {"name", "decoding", "checkpoint", "split", "num_tasks", "success", "low", "high", "tokens", "calls"}
    assert all(fixed <= set(one) for one in result["evaluations"])
    names = {one["name"] for one in result["evaluations"]}
    assert {"single", "planner_alone", "executor_alone", "shuffled_plans", "base_planner", "swapped"} <= names
    assert 0 < result["train_seconds"] < 60
    page = report.folder.report.read_text()
    assert page.count("plan_path-test-") >= 4 and "http://" not in page.replace("http://www.w3.org", "")


def test_every_metric_of_a_run_is_defined_in_the_documentation(run):
    report, _ = run()
    page = (Path(__file__).parents[1] / "docs" / "metrics.md").read_text(encoding="utf-8")
    for line in read_metrics(report.folder.metrics):
        for key in line:
            stem = "/".join(key.split("/")[:2])
            assert f"`{stem}`" in page or f"`{stem}/" in page or f"{stem}/<" in page or key == "iteration", key


def test_episodes_are_written_once_per_iteration_and_carry_no_time(run):
    report, _ = run()
    episodes = read_episodes(report.folder.episodes)
    assert [episode.ticket for episode in episodes] == [0] * 3 + [1] * 3 + [2] * 3
    assert gzip.decompress(report.folder.episodes.read_bytes()).startswith(b'{"schema": 1')


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_every_role_gets_signal_at_either_end_of_alpha_with_the_base_of_the_demo(tmp_path, alpha):
    """The recipe of the demo, three small iterations: each role has groups with differences, and learns from them."""
    words = ["model=tiny-m", "train.iterations=2", "train.eval_every=0", "sampling.trees=4", "threads=1"]
    words += ["update.warmup=0", "update.schedule=constant"]
    prepared = prepare(load("plan_path", [*words, "evaluate.at_end=false", f"credit.alpha={alpha}"]))
    lines = timeless(start(prepared, runs=tmp_path, callbacks=[]).folder)
    assert len(lines) == 2
    for line in lines:
        for role in ("planner", "executor"):
            assert line[f"credit/unequal_team_frac/{role}"] > 0.0
            assert line[f"credit/unequal_local_frac/{role}"] > 0.0
            assert (
                line[f"credit/unequal_groups_frac/{role}"]
                == line[f"credit/unequal_{'team' if alpha else 'local'}_frac/{role}"]
            )
            assert line[f"update/rows/{role}"] > 0.0 and line[f"update/grad_norm/{role}"] > 0.0


class Slow(Listener):
    """Half a second for each iteration and a second for each validation."""

    def on_iteration(self, metrics):
        time.sleep(0.5)

    def on_evaluation(self, evaluation):
        time.sleep(1.0)


@pytest.mark.slow
def test_train_seconds_is_wall_time_from_the_first_sample_to_the_last_update_without_validation(run):
    class Start(Listener):
        def on_start(self, about):
            self.start = time.perf_counter()

    began = Start()
    report, _ = run("train.iterations=3", "train.eval_every=1", callbacks=[Slow(), began])
    wall = time.perf_counter() - began.start
    lines = [line for line in read_metrics(report.folder.metrics) if "time/train_s" in line]
    laps = sum(line["time/iteration_s"] for line in lines)
    assert laps + 1.0 <= report.train_seconds <= wall - 3.0 - 0.5
    assert json.loads(report.folder.result.read_text())["train_seconds"] == pytest.approx(
        report.train_seconds, abs=1e-3
    )


def test_the_clock_goes_on_from_before_and_stands_still_while_stopped():
    clock = Clock(before=100.0)
    with clock.stopped():
        time.sleep(0.2)
    assert 100.0 <= clock.seconds < 100.15
