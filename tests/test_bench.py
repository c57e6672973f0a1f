from __future__ import annotations

import pytest
import torch

from motet.bench import Iteration, Work, measure, products

torch.set_num_threads(1)
SMALL = Work(
    num_prompts=2, num_candidates=3, prompt_tokens=4, new_tokens=2, vocab=5, hidden=8, intermediate=6, layers=1
)


def test_the_operations_of_a_tiny_work_are_those_counted_by_hand() -> None:
    work = Work(
        num_prompts=1,
        num_candidates=2,
        prompt_tokens=3,
        new_tokens=2,
        vocab=5,
        hidden=4,
        intermediate=6,
        layers=1,
        heads=2,
        kv_heads=1,
        head_dim=2,
    )
    weights = 4 * 8 + 4 * 4 + 4 * 12 + 6 * 4  # qkv, out, gate and up, down
    linear = 2 * weights * (3 + 2 * 1 + 3 * (3 + 2 * 2))
    head = 2 * 4 * 5 * (1 + 2 * 1 + 3 * 2 * 2)
    pairs = 6 + 2 * 4 + 3 * (6 + 2 * (4 + 5))
    assert sum(p.flops for p in products(work)) == linear + head + 4 * 4 * pairs


def test_an_iteration_samples_exactly_the_new_tokens_and_takes_one_step() -> None:
    iteration = Iteration(SMALL)
    rollout, update = iteration.run()
    assert rollout > 0 and update > 0
    assert iteration.engine.counters["prompt_computations"] == 2
    assert iteration.engine.counters["sampled_tokens"] == 2 * 3 * 2
    assert (iteration.learner.version("p"), iteration.engine.version("p")) == (1, 1)


def test_the_report_holds_medians_ranges_threads_and_hardware() -> None:
    report = measure(0.0, min_runs=3, work=SMALL)
    assert report["runs"] == 3 and report["threads"] == 1
    for name in ("motet.completions_per_s", "limit.share", "limit.completions_per_s"):
        assert 0 < report[f"{name}.low"] <= report[name] <= report[f"{name}.high"]
    assert report["limit.share"] == pytest.approx(
        report["motet.completions_per_s"] / report["limit.completions_per_s"], rel=0.9
    )
