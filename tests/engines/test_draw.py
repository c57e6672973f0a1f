from __future__ import annotations

import math

import pytest
import torch

from motet.engines.draw import RowSampling, draw
from motet.types import Sampling

LOGITS = torch.tensor([[math.log(0.5), math.log(0.25), math.log(0.125), math.log(0.125)]])


def picks(uniforms: list[float], logits: torch.Tensor = LOGITS, **sampling: object) -> list[int]:
    rows = RowSampling.of([Sampling(**sampling)] * len(uniforms))  # type: ignore[arg-type]
    return draw(logits.expand(len(uniforms), -1), torch.tensor(uniforms, dtype=torch.float64), rows)[0].tolist()


def test_the_inverse_cdf_maps_each_stretch_of_the_unit_interval_to_its_token() -> None:
    assert picks([0.01, 0.49, 0.51, 0.74, 0.76, 0.87, 0.88, 0.99]) == [0, 0, 1, 1, 2, 2, 3, 3]


def test_temperature_two_flattens_the_stretches() -> None:
    root = [math.sqrt(p) for p in (0.5, 0.25, 0.125, 0.125)]
    edge = root[0] / sum(root)
    assert picks([edge - 1e-6, edge + 1e-6], temperature=2.0) == [0, 1]


def test_log_probs_are_those_of_the_full_softmax_at_the_temperature_even_where_the_support_is_cut() -> None:
    u = torch.tensor([0.9], dtype=torch.float64)
    for settings in (
        Sampling(temperature=0.5),
        Sampling(temperature=0.5, top_k=2),
        Sampling(temperature=0.5, top_p=0.9),
    ):
        ids, logprobs = draw(LOGITS, u, RowSampling.of([settings]))
        squares = [p * p for p in (0.5, 0.25, 0.125, 0.125)]
        assert logprobs.item() == pytest.approx(math.log(squares[ids.item()] / sum(squares)), abs=1e-6)


def test_the_largest_uniform_never_leaves_the_vocabulary_nor_takes_a_token_of_weight_zero() -> None:
    hidden = torch.tensor([[0.0, 0.0, -math.inf, -math.inf]])
    assert picks([1.0 - 2.0**-53, 2.0**-53], hidden) == [1, 0]


def test_greedy_takes_the_lowest_index_on_ties_and_reports_temperature_one() -> None:
    ties = torch.tensor([[0.0, 2.0, 2.0, 1.0]])
    assert picks([0.99, 0.01], ties, greedy=True, temperature=0.1) == [1, 1]
    _, logprobs = draw(
        ties, torch.tensor([0.5], dtype=torch.float64), RowSampling.of([Sampling(greedy=True, temperature=9.0)])
    )
    assert logprobs.item() == pytest.approx(2 - math.log(1 + 2 * math.e**2 + math.e), abs=1e-6)


def test_top_k_keeps_the_k_largest_and_the_lower_index_on_ties() -> None:
    assert picks([0.01, 0.66, 0.67, 0.99], top_k=2) == [0, 0, 1, 1]
    assert picks([0.99], top_k=3) == [2]


def test_top_p_keeps_the_smallest_set_that_reaches_it() -> None:
    assert picks([0.66, 0.67, 0.99], top_p=0.75) == [0, 1, 1]
    assert picks([0.99], top_p=0.5) == [0]
    assert picks([0.99], top_p=0.76) == [2]


@pytest.mark.parametrize("vocab", [5, 17, 201, 1003])
def test_a_row_draws_the_same_bits_in_any_company_and_position(vocab: int) -> None:
    generator = torch.Generator().manual_seed(vocab)
    logits = torch.randn(65, vocab, generator=generator) * 3
    uniforms = torch.rand(65, generator=generator, dtype=torch.float64)
    rows = RowSampling.of([Sampling(temperature=0.5 + i / 50) for i in range(65)])
    ids, logprobs = draw(logits, uniforms, rows)
    for index in (0, 1, 31, 64):
        one = torch.tensor([index])
        alone = draw(logits[one], uniforms[one], rows.select(one))
        assert (alone[0].item(), alone[1].item()) == (ids[index].item(), logprobs[index].item())
    back = torch.arange(64, -1, -1)
    turned = draw(logits[back], uniforms[back], rows.select(back))
    assert torch.equal(turned[0][back], ids) and torch.equal(turned[1][back], logprobs)


def test_frequencies_follow_the_softmax() -> None:
    num = 20000
    uniforms = (torch.arange(num, dtype=torch.float64) + 0.5) / num
    ids, _ = draw(LOGITS.expand(num, -1), uniforms, RowSampling.of([Sampling()] * num))
    assert torch.bincount(ids).tolist() == [10000, 5000, 2500, 2500]
