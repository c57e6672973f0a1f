"""Packed log-probs and their gradients equal those of single rows."""

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import BloomConfig, BloomForCausalLM, MistralConfig, MistralForCausalLM
from update_fixtures import SIZES, VOCABULARY, TrueDouble, make_model, plain_logprobs, row

from motet.losses.packing import packed_micro_batches
from motet.policies.logprobs import ForwardPath, inspect_model, packed_logprobs, packed_values

FAST = ForwardPath()
FAMILIES = ["qwen3", "llama", "gpt_neox"]
ROWS = [
    row((1, 2, 3), (4, 5, 6)),
    row((1, 2, 3), (7,)),
    row((1, 2, 3), ()),
    row((1, 2, 3), (0, 8, 0), temperature=0.7),  # EOS first, pad = EOS
    row((9,), (1, 2)),
]


def packed_by_row(model, rows, path=FAST, budget=64, **given):
    out = [None] * len(rows)
    for batch in packed_micro_batches(rows, budget, share_prompts=path.packed, width_multiple=4):
        values = packed_logprobs(model, batch, path, **given)
        for r, index in enumerate(batch.rows):
            out[index] = values[r, : batch.lengths[r]]
    return out


def gradients(model, values, rows):
    model.zero_grad(set_to_none=True)
    sum((v * torch.arange(1, len(v) + 1, dtype=v.dtype)).sum() * (i + 1) for i, v in enumerate(values)).backward()
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def check(model, rows, tolerance, path=FAST, budget=64, **given):
    with TrueDouble() if model.dtype == torch.float64 else nullcontext():
        _check(model, rows, tolerance, path, budget, **given)


def _check(model, rows, tolerance, path, budget, **given):
    expected = [plain_logprobs(model, r.prompt_ids, r.completion_ids, r.temperature) for r in rows]
    want = gradients(model, expected, rows)
    got_values = packed_by_row(model, rows, path, budget, **given)
    got = gradients(model, got_values, rows)
    for a, b in zip(got_values, expected, strict=True):
        assert a.shape == b.shape and float((a - b).detach().abs().max() if len(b) else 0) <= 10 * tolerance
    largest = max(float(g.abs().max()) for g in want.values())
    assert got.keys() == want.keys()
    assert max(float((got[n] - want[n]).abs().max()) for n in want) <= tolerance * largest


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("family", FAMILIES)
def test_packed_equals_single_rows_in_float64(family, attention):
    check(make_model(family, attention=attention), ROWS, 1e-10)


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_equals_single_rows_in_float32(family):
    check(make_model(family, dtype=torch.float32), ROWS, 1e-5)


@pytest.mark.parametrize(
    "path", [ForwardPath(False, "hidden"), ForwardPath(True, "full"), ForwardPath(False, "full")], ids=str
)
def test_every_other_path_gives_the_same_numbers(path):
    check(make_model(), ROWS, 1e-10, path)


def test_chunked_logits_give_the_same_numbers():
    check(make_model(), ROWS, 1e-10, max_logits=2 * VOCABULARY)


def test_a_split_group_gives_the_same_numbers():
    check(make_model(), ROWS, 1e-10, budget=5)


MODEL = make_model()
ids = st.integers(0, VOCABULARY - 1)
drawn = st.builds(
    row,
    st.lists(ids, min_size=1, max_size=3).map(tuple),
    st.lists(ids, max_size=5).map(tuple),
    temperature=st.sampled_from([1.0, 0.5]),
)


@given(st.lists(drawn, min_size=1, max_size=8).filter(lambda rs: any(r.completion_ids for r in rs)), st.integers(1, 40))
@settings(max_examples=8, deadline=None)
def test_any_rows_and_any_budget_give_the_numbers_of_single_rows(rows, budget):
    check(MODEL, rows, 1e-10, budget=budget)


def test_entropy_is_that_of_the_full_softmax():
    model = make_model()
    (batch,) = packed_micro_batches([row((1, 2), (3,), temperature=2.0)], 8)
    _, entropy = packed_values(model, batch)
    distribution = torch.softmax(model(input_ids=torch.tensor([[1, 2]])).logits[0, -1] / 2.0, dim=-1)
    assert float(entropy[0, 0]) == pytest.approx(
        float(torch.distributions.Categorical(distribution.detach()).entropy()), abs=1e-12
    )
    assert not entropy.requires_grad
    assert packed_values(model, batch, entropy_gradient=True)[1].requires_grad


def test_chunks_never_hold_all_logits_for_the_backward_pass():
    model = make_model()
    rows = [row((1, 2), (3,) * 40), row((2, 2), (4,) * 40)]
    (batch,) = packed_micro_batches(rows, 400)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        packed_logprobs(model, batch, max_logits=4 * VOCABULARY)
    assert not [t for t in kept if t.shape[-1:] == (VOCABULARY,) and t.ndim == 2]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_usual_families_are_packed(family):
    assert inspect_model(make_model(family, dtype=torch.float32)) == ForwardPath(True, "hidden", ())


def test_a_model_without_block_mask_is_refused_by_name_and_computed_row_by_row():
    config = BloomConfig(vocab_size=VOCABULARY, hidden_size=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
    model = BloomForCausalLM(config).double().eval()
    path = inspect_model(model)
    assert not path.packed and path.notes[0].startswith("BloomForCausalLM: not packed")
    check(model, ROWS[:2], 1e-10, path)


def test_sliding_windows_are_refused_by_name():
    config = MistralConfig(**SIZES, num_attention_heads=4, num_key_value_heads=2, bos_token_id=0, eos_token_id=0)
    path = inspect_model(MistralForCausalLM(config))
    assert path == ForwardPath(False, "hidden", ("MistralForCausalLM: not packed, its layers are sliding_attention",))


def test_a_model_that_ignores_the_mask_is_found_by_the_probe():
    model = make_model()
    inner = model.model.forward

    def only_causal(*args, attention_mask=None, **rest):
        if attention_mask.ndim == 4:
            attention_mask = torch.full_like(attention_mask, torch.finfo(attention_mask.dtype).min).triu(1)
        return inner(*args, attention_mask=attention_mask, **rest)

    model.model.forward = only_causal
    path = inspect_model(model)
    assert not path.packed and "sees another" in path.notes[0]


def test_a_logit_that_is_more_than_the_output_embedding_is_found_by_the_probe():
    model = make_model()
    inner = model.forward

    def scaled(*args, **rest):
        out = inner(*args, **rest)
        out.logits = out.logits * 1.5
        return out

    model.forward = scaled
    path = inspect_model(model)
    assert path.head == "full" and "output embedding" in path.notes[0]
    check(model, ROWS, 1e-10, path)


def test_a_configured_logit_cap_is_seen_without_a_probe():
    model = make_model()
    model.config.final_logit_softcapping = 30.0
    assert inspect_model(model).head == "full"
