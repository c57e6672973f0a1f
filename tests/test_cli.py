import json
import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from motet.cli.app import app, explained, run
from motet.errors import ConfigError, MotetError

COMMANDS = ("train", "eval", "play", "report", "recipes", "doctor", "bench", "matrix", "sft", "base")


def test_every_command_helps_with_an_example(capsys):
    for command in COMMANDS:
        arguments = [command, "build"] if command == "base" else [command]
        assert run([*arguments, "--help"]) == 0
        assert f"Example: motet {' '.join(arguments)}" in " ".join(capsys.readouterr().out.split())
    assert {name.name for name in app.registered_commands} | {"base"} == set(COMMANDS)


def test_a_mistake_is_one_clean_message_and_exit_code_2(capsys):
    assert run(["train", "plan_path", "update.lrr=1", "--show"]) == 2
    error = capsys.readouterr().err
    assert error.startswith(
        "error: unknown key 'update.lrr'\n  where: line command line 'update.lrr=1'\n  to fix it: did"
    )
    assert "Traceback" not in error


def test_words_that_are_no_command_or_option_give_usage_and_code_2(capsys):
    assert run(["trane"]) == 2
    assert run(["recipes", "--colour"]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_an_error_is_explained_line_by_line():
    error = MotetError("reward is 2", where={"task": "t", "turn": 1}, fix="return less")
    assert explained(error) == "error: reward is 2\n  where: task t, turn 1\n  to fix it: return less\n"
    assert explained(ConfigError("no")) == "error: no\n"


def test_show_prints_the_resolved_settings_and_trains_nothing(capsys, tmp_path):
    assert run(["train", "plan_path_lora", "seed=7", "--show", "--runs", str(tmp_path)]) == 0
    shown = yaml.safe_load(capsys.readouterr().out)
    assert shown["settings"]["seed"] == 7 and shown["settings"]["threads"] >= 1
    assert shown["settings"]["policies"]["planner"]["rank"] == 4
    assert shown["settings"]["policies"]["executor"]["rank"] == 16
    assert len(shown["settings_hash"]) == 16 and not list(tmp_path.iterdir())


def test_recipes_are_listed_with_one_line_each(capsys):
    assert run(["recipes"]) == 0
    listed = capsys.readouterr().out
    for name in ("plan_path", "plan_path_shared", "plan_path_lora", "plan_path_complementary", "pettingllms_paper"):
        assert f"\n{name} " in f"\n{listed}"
    assert "\nat_grpo_sudoku " in listed and "0.6 team + 0.4 local" in listed
    assert run(["recipes", "--keys"]) == 0
    assert "| `credit.alpha` | `0.7` |" in capsys.readouterr().out


def test_a_tiny_base_is_built_into_a_folder_and_never_over_another(tmp_path, capsys):
    words = ["base", "build", "tiny-s", "--out", str(tmp_path / "new"), "--seconds", "0.2", "--threads", "1"]
    assert run(words) == 0
    assert (tmp_path / "new" / "model.safetensors").is_file()
    assert run(words) == 2
    assert "already holds a model" in capsys.readouterr().err


def test_the_doctor_says_what_this_machine_can_run(capsys):
    assert run(["doctor", "--json"]) == 0
    findings = {one["subject"]: one for one in json.loads(capsys.readouterr().out)}
    assert {"python", "torch", "cores", "instructions", "memory", "graphics card", "vllm", "ray"} <= set(findings)
    assert "GFLOP/s" in findings["matrix product float32"]["found"]
    assert run(["doctor"]) == 0
    assert "processor" in capsys.readouterr().out


def test_a_run_that_does_not_exist_is_refused_by_every_command_that_looks(capsys, tmp_path):
    for command in (["eval", "nowhere"], ["play", "nowhere"], ["report", "nowhere"]):
        assert run([*command, "--runs", str(tmp_path)]) == 2
        assert "there is no run 'nowhere'" in capsys.readouterr().err


@pytest.fixture(scope="module")
def trained(tiny_folder, tmp_path_factory):
    runs = tmp_path_factory.mktemp("runs")
    small = ["sampling.trees=2", "sampling.width=2", "train.eval_every=1", "train.eval_tasks=2", "threads=1"]
    shown = ["evaluate.num_tasks=3", "evaluate.variants=[team]", "train.iterations=2"]
    for name in ("one", "two"):
        code = run(["train", "smoke", f"name={name}", f"model={tiny_folder}", *small, *shown, "--runs", str(runs)])
        assert code == 0
    return runs


@pytest.mark.slow
def test_case_24_swapped_single_and_mixed_teams_are_one_flag_each_beside_the_normal_result(trained, capsys):
    flags = ["--swap", "planner=executor", "--single", "executor", "--policy", "planner=@base"]
    capsys.readouterr()
    assert run(["eval", "one", *flags, "--tasks", "3", "--runs", str(trained), "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)["evaluations"]
    assert [(one["name"], one["decoding"]) for one in lines] == [
        (name, decoding) for decoding in ("sampled", "greedy") for name in ("team", "swapped", "single", "base_planner")
    ]
    assert {one["num_tasks"] for one in lines} == {3}


@pytest.mark.slow
def test_a_place_can_be_filled_from_another_run_at_any_checkpoint(trained, capsys):
    for where in ("base", "peak", "final"):
        flags = ["--policy", f"planner=two:executor@{where}", "--decoding", "greedy", "--tasks", "2"]
        assert run(["eval", "one", *flags, "--runs", str(trained)]) == 0
        assert "team" in capsys.readouterr().out
    assert run(["eval", "one", "--policy", "planner=two:exector", "--tasks", "2", "--runs", str(trained)]) == 2
    assert "executor" in capsys.readouterr().err


@pytest.mark.slow
def test_play_draws_one_episode_and_a_seed_plays_the_same_one_twice(trained, capsys):
    drawn = []
    for _ in range(2):
        capsys.readouterr()
        assert run(["play", "one", "--seed", "1", "--runs", str(trained)]) == 0
        drawn.append(capsys.readouterr().out)
    assert drawn[0] == drawn[1] and "plan_path-test-1-" in drawn[0] and "turn 1" in drawn[0]


@pytest.mark.slow
def test_a_report_can_be_written_anew(trained, capsys):
    page = trained / "one" / "report.html"
    page.unlink()
    assert run(["report", "one", "--runs", str(trained)]) == 0
    assert page.stat().st_size > 1000


@pytest.mark.slow
def test_case_31_ctrl_c_finishes_the_iteration_saves_it_and_says_how_to_go_on(tiny_folder, tmp_path):
    words = ["train", "smoke", f"model={tiny_folder}", "train.iterations=5000", "train.eval_every=0", "threads=1"]
    code = "from motet.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *words, "--runs", str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        metrics = tmp_path / "smoke" / "metrics.jsonl"
        deadline = time.monotonic() + 300  # only a machine that is very busy comes near it
        while not (metrics.exists() and metrics.read_text().count("\n") > 2):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "checkpoint saved in" in out and "Go on with --resume" in out
        assert list((tmp_path / "smoke" / "checkpoints").glob("iteration-*"))
        assert bystander.poll() is None
    finally:
        bystander.kill()
        process.kill()
        bystander.wait()
