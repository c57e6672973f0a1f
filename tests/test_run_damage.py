"""Damage to what a run left, and failures in the middle of one: each ends in one error with its place."""

import shutil
from typing import ClassVar

import pytest

import motet
from motet.build import prepare
from motet.cli.app import run as command
from motet.config import load
from motet.errors import CheckpointError, ConfigError, MotetError, RewardError, WorkflowError
from motet.policies import checkpoint
from motet.rollout.records import read_episodes
from motet.runs import RunFolder, create, latest
from motet.session import start
from motet.tracking import read_metrics

QUICK = ["sampling.width=2", "sampling.trees=2", "train.eval_every=0", "evaluate.at_end=false", "threads=1"]


@pytest.fixture(scope="module")
def words(tiny_folder):
    return [f"model={tiny_folder}", *QUICK, "train.iterations=2", "train.checkpoint_every=1"]


@pytest.fixture(scope="module")
def finished(words, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    start(prepare(load("smoke", words)), runs=runs)
    return runs


@pytest.fixture
def runs(finished, tmp_path):
    """A copy of the runs folder with one finished run, `smoke`."""
    shutil.copytree(finished, tmp_path / "runs")
    return tmp_path / "runs"


def flip(path, at=-1):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


LAST = "checkpoints/iteration-000002"


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            lambda run: flip(run / LAST / "policies/planner/model.safetensors"),
            "planner/model.safetensors has other bytes",
        ),
        (lambda run: flip(run / LAST / "optimizer/executor.safetensors"), "executor.safetensors has other bytes"),
        (lambda run: (run / LAST / "optimizer/executor.safetensors").unlink(), "executor.safetensors is missing"),
        (lambda run: (run / LAST / "manifest.json").write_text("{"), "the manifest cannot be read"),
        (lambda run: (run / LAST / "manifest.json").write_text("[]"), "no checkpoint of this version"),
        (lambda run: (run / "metrics.jsonl").write_text(""), r"metrics.jsonl has 0 bytes, at the checkpoint it had"),
        (lambda run: (run / "metrics.jsonl").unlink(), r"metrics.jsonl has \d+ bytes, at the checkpoint it had"),
        (
            lambda run: (run / "episodes.jsonl.gz").write_bytes(b"x"),
            r"episodes.jsonl.gz has 1 bytes, at the",
        ),
        (lambda run: (run / "config.yaml").write_text("settings: ["), "config.yaml cannot be read"),
        (lambda run: (run / "config.yaml").write_text("settings: {}\n"), "config.yaml cannot be read"),
        (lambda run: (run / "config.yaml").write_bytes(b"\xff\xff"), "config.yaml cannot be read"),
        (lambda run: (run / "config.yaml").unlink(), "this folder holds no run"),
        (lambda run: shutil.rmtree(run / "checkpoints"), "no checkpoint to resume from"),
    ],
)
def test_a_damaged_run_is_not_resumed_and_names_the_file(runs, words, damage, message):
    damage(runs / "smoke")
    with pytest.raises(CheckpointError, match=message):
        start(prepare(load("smoke", [*words, "train.iterations=3"])), runs=runs, resume=True)


def test_a_damaged_run_is_one_message_for_every_command_that_looks(runs, capsys):
    flip(runs / "smoke" / LAST / "policies/planner/model.safetensors")
    (runs / "smoke" / "metrics.jsonl").write_text("{}\nnot json\n")
    for words, message in ((["eval", "smoke", "--tasks", "2"], "other bytes"), (["report", "smoke"], "line 2")):
        assert command([*words, "--runs", str(runs)]) == 2
        error = capsys.readouterr().err
        assert message in error and "Traceback" not in error


def test_a_runs_folder_that_cannot_be_written_is_refused_with_the_way_out(tmp_path, words, capsys):
    (tmp_path / "file").write_text("")
    for runs in (tmp_path / "file", tmp_path / "file" / "below"):
        assert command(["train", "smoke", *words, "--runs", str(runs)]) == 2
        assert "cannot write here" in capsys.readouterr().err


def test_a_full_disk_ends_the_run_with_the_file_and_the_way_back(tmp_path, words, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device", "episodes.jsonl.gz")

    monkeypatch.setattr("motet.record.write_episodes", full)
    with pytest.raises(CheckpointError, match=r"No space left on device \[file=episodes.jsonl.gz\].*--resume"):
        start(prepare(load("smoke", words)), runs=tmp_path)


def test_a_run_whose_own_name_looks_like_a_number_is_not_taken_for_the_second_of_another(tmp_path):
    def settings(name):
        return prepare(load("smoke", [f"name={name}"])).settings

    for name in ("demo", "demo-7"):
        create(tmp_path, name).write_config(settings(name))
    assert latest(tmp_path, "demo").name == "demo"
    create(tmp_path, "demo").write_config(settings("demo"))
    assert latest(tmp_path, "demo").name == "demo-2"
    assert latest(tmp_path, "demo-7").name == "demo-7"


class Says(motet.Workflow):
    """One call whose score is `worth`, then what `then` does."""

    roles: ClassVar = {"planner": 1}

    def __init__(self, worth=lambda text: motet.Reward(team=len(text) % 3 / 2), then=lambda: None):
        self.worth, self.then = worth, then

    async def run(self, task, cast):
        call = await cast.planner.act("goal c01", score=self.worth)
        self.then()
        return motet.Outcome(success=True, team=0.5, metrics={"length": float(len(call.text))})


def train(workflow, tiny_folder, tmp_path, **settings):
    settings = {"sampling": {"width": 2, "trees": 2}, "update": {}, **settings}
    return motet.train(
        workflow, "plan_path", model=str(tiny_folder), runs=tmp_path, callbacks=[], role={"max_tokens": 3},
        train={"iterations": 2}, evaluate={"at_end": False}, threads=1, **settings,
    )  # fmt: skip


def fail():
    raise KeyError("gone")


@pytest.mark.parametrize(
    ("workflow", "kind", "message"),
    [
        (Says(worth=lambda text: 1), RewardError, "score returned 1, not a Reward"),
        (Says(worth=lambda text: motet.Reward(team=float("nan"))), RewardError, "team reward is nan"),
        (Says(worth=lambda text: fail()), RewardError, "score raised KeyError: 'gone'"),
        (Says(then=fail), WorkflowError, "the workflow raised KeyError: 'gone'"),
        (Says(then=lambda: exit(0)), WorkflowError, "the workflow raised SystemExit"),
    ],
)
def test_a_failure_in_the_middle_of_a_run_stops_it_with_task_role_and_turn(
    tiny_folder, tmp_path, workflow, kind, message
):
    with pytest.raises(kind, match=rf"{message}.*task=plan_path-train-\S+ .*role=planner slot=0 turn=0"):
        train(workflow, tiny_folder, tmp_path)


def test_failures_within_the_stated_bound_are_counted_and_give_no_row(tiny_folder, tmp_path):
    broken = iter([True])
    report = train(
        Says(then=lambda: next(broken, False) and fail()), tiny_folder, tmp_path,
        sampling={"width": 2, "trees": 4, "max_failed_frac": 0.25},
    )  # fmt: skip
    first, second = read_metrics(report.folder.metrics)
    assert (first["rollout/failed_frac"], second["rollout/failed_frac"]) == (0.25, 0.0)
    errors = [episode.error for episode in read_episodes(report.folder.episodes) if episode.error]
    assert len(errors) == 1 and "KeyError: 'gone'" in errors[0]


@pytest.mark.slow
def test_weights_that_explode_end_the_run_by_name_and_no_number_is_made_up(tiny_folder, tmp_path):
    uneven = Says(worth=lambda text: motet.Reward(team=sum(map(ord, text)) % 97 / 97))
    with pytest.raises(MotetError, match=r"not finite.*policy=planner"):
        train(uneven, tiny_folder, tmp_path, update={"lr": 1e38, "max_grad_norm": None})
    lines = read_metrics(RunFolder(tmp_path / "run").metrics)
    assert all(value == value for line in lines for value in line.values())


def test_anything_a_model_or_a_score_says_can_be_written_and_read_back(tiny_folder, tmp_path):
    odd = {"note": "\x1b[31m<script>\u202e\ud800", "set": {1, 2}, "self": object(), "big": "x" * 100_000}
    report = train(Says(worth=lambda text: motet.Reward(team=0.5, notes=odd)), tiny_folder, tmp_path)
    notes = read_episodes(report.folder.episodes)[0].calls[0].candidates[0].reward.notes
    assert notes["note"] == odd["note"] and notes["set"] == [1, 2] and len(notes["big"]) == 100_000


def test_notes_without_an_end_are_refused_with_their_task(tiny_folder, tmp_path):
    endless = []
    endless.append(endless)
    with pytest.raises(CheckpointError, match=r"an episode cannot be written: RecursionError.*task=plan_path-train"):
        train(Says(worth=lambda text: motet.Reward(team=0.5, notes=endless)), tiny_folder, tmp_path)


def test_resuming_with_settings_that_only_look_different_is_not_refused(tmp_path, tiny_folder):
    class Sized(Says):
        sizes: tuple = (1, 2)

    report = train(Sized(), tiny_folder, tmp_path)
    assert train(Sized(), tiny_folder, tmp_path, resume=True).folder == report.folder


def test_a_folder_in_use_is_refused_for_a_second_writer(runs, words):
    with RunFolder(runs / "smoke").lock(), pytest.raises(ConfigError, match="being written by another process"):
        start(prepare(load("smoke", [*words, "train.iterations=3"])), runs=runs, resume=True)


def test_the_checkpoint_before_a_damaged_one_is_whole(runs):
    flip(runs / "smoke" / LAST / "policies/planner/model.safetensors")
    before = runs / "smoke" / "checkpoints/iteration-000001"
    assert checkpoint.read_manifest(before)["state"]["progress"]["iteration"] == 1
