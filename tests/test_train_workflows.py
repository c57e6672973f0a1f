"""Whole runs of the workflows of tasks and programs: stopped, resumed, evaluated, drawn; a model of random weights."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from motet.build import prepare
from motet.cli.app import run as command
from motet.config import load
from motet.errors import SandboxError
from motet.sandbox import configure
from motet.session import start
from motet.tracking import Listener
from motet.workflows.base import make_workflow

sys.path.insert(0, str(Path(__file__).parent))
from run_files import same, timeless

WORDS = ["<pad>", "<eos>", *"0123456789+-*=x;[]_", "yes", "no", "way", "sum", "said", "box", "did", "none"]


@pytest.fixture(scope="module")
def base(tmp_path_factory, tiny_folder):
    """The tiny model of the other tests with few words, those of sums and programs, so that some answers are read."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast, Qwen3Config

    words = [*WORDS, *(f"n{num}" for num in range(13))]
    inner = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<pad>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<eos>", pad_token="<pad>", unk_token="<pad>")
    config = Qwen3Config.from_pretrained(tiny_folder, vocab_size=len(words), max_position_embeddings=256)
    folder = tmp_path_factory.mktemp("words")
    tokenizer.save_pretrained(folder)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    return folder


class Stops(Listener):
    def __init__(self):
        self.iteration = 0

    def on_iteration(self, metrics):
        self.iteration = metrics["iteration"]


@pytest.fixture
def run(base, tmp_path):
    """Two iterations of a task set by a workflow, from one recipe; `stop_after` stops it, `resume` goes on."""

    def run(tasks, workflow, *overrides, runs, stop_after=None, resume=False):
        heard = Stops()
        loaded = load({
            "name": "cell", "model": str(base), "threads": 1, "tasks": [{"name": tasks}],
            "workflow": {"name": workflow}, "role": {"max_tokens": 1}, "sampling": {"width": 8, "trees": 3},
            "train": {"iterations": 2, "checkpoint_every": 1}, "evaluate": {"num_tasks": 2},
        }, list(overrides))  # fmt: skip
        try:
            prepared = prepare(loaded)
        except SandboxError as problem:
            pytest.skip(problem.what)
        stop = lambda: heard.iteration == stop_after
        return start(prepared, runs=tmp_path / runs, resume=resume, callbacks=[heard], should_stop=stop).folder

    yield run
    configure()


@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "workflow", "overrides"), [
    ("arithmetic", "voting", ["cast=per_slot"]),
    ("arithmetic", "orchestrator_workers", ["sampling.rule=independent"]),
    ("arithmetic", "evaluator_optimizer", ["sampling.rule=lookahead", "sampling.width=4", "cast=shared"]),
    ("mini_code", "coder_tester", ["policy={kind: lora, rank: 3}"]),
    ("sudoku", "debate", []),
])  # fmt: skip
def test_case_20_a_team_stopped_and_resumed_is_the_team_not_stopped_and_is_evaluated_and_drawn(
    run, tmp_path, capsys, tasks, workflow, overrides
):
    whole = run(tasks, workflow, *overrides, runs="whole")
    run(tasks, workflow, *overrides, runs="halves", stop_after=1)
    same(whole, run(tasks, workflow, *overrides, runs="halves", resume=True))
    assert timeless(whole)[0]["credit/has_signal"] == 1  # else there was nothing that a resumed run could lose
    result = json.loads(whole.result.read_text())
    teams = {(one["decoding"], one["checkpoint"]) for one in result["evaluations"] if one["name"] == "team"}
    assert teams == {(how, when) for how in ("sampled", "greedy") for when in ("base", "final")}
    page = whole.report.read_text()
    assert all(role in page for role in make_workflow(workflow).roles) and tasks in page
    assert command(["play", "cell", "--runs", str(tmp_path / "whole")]) == 0
    drawn = capsys.readouterr().out
    assert "turn 1" in drawn and ("solved" in drawn)
