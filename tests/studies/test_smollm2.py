"""A real chat model of 135 million weights, one adapter per role, on this machine's processor."""

import json
import resource
import subprocess
import sys

import pytest

pytest.importorskip("gguf", reason="the gguf extra reads the weights of smollm2")

GIB = 1024**3


@pytest.mark.study
def test_smollm2_trains_two_adapters_of_rank_4_and_16_within_6_gib(tmp_path):
    command = [sys.executable, "-m", "motet", "train", "smollm2_lora", "--runs", str(tmp_path), "threads=2"]
    command += ["train.iterations=2", "sampling.trees=1", "sampling.width=4"]
    command += ["role.max_tokens=32", "evaluate.at_end=false"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    assert peak < 6 * GIB, f"{peak / GIB:.2f} GiB"
    run = tmp_path / "smollm2_lora"
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text("utf-8").splitlines()]
    iterations = [line for line in lines if "rollout/calls" in line]
    assert len(iterations) == 2
    assert all(line["credit/rows/planner"] and line["credit/rows/executor"] for line in iterations)
    config = (run / "config.yaml").read_text("utf-8")
    assert "rank: 4" in config and "rank: 16" in config
