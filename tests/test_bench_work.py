"""The two numbers of the benchmark's work, and the folder in which other trainers find it."""

from __future__ import annotations

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from motet.bench_work import Product, Work, model_config, products, roof, save, totals
from motet.policies.models import random_model

torch.set_num_threads(1)
SMALL = Work(
    num_prompts=2, num_candidates=3, prompt_tokens=4, new_tokens=2, vocab=5, hidden=8, intermediate=6, layers=1
)


def test_the_bytes_of_a_product_are_its_operands_and_its_result_once_per_time_it_is_needed(monkeypatch):
    made = [Product(1, 2, 3, 4, flops=2 * 2 * 3 * 4 * 5), Product(7, 2, 3, 4, flops=7 * 2 * 2 * 3 * 4)]
    monkeypatch.setattr("motet.bench_work.products", lambda work: made)
    assert totals(SMALL) == (12 * 48, 4 * (6 + 12 + 8) * (5 + 7))


def test_the_two_numbers_of_the_measured_work_are_those_of_the_documentation():
    flops, moved = totals(Work())
    assert flops == pytest.approx(53.3e9, rel=1e-3) and moved == pytest.approx(1.60e9, rel=1e-2)


def test_a_prompt_of_512_needs_more_than_its_share_of_tokens_since_attention_grows_with_its_square():
    short, long = totals(Work())[0], totals(Work(prompt_tokens=512))[0]
    tokens = lambda p: 32 * (p + 3 * (p + 8 * 16)) + 256 * 15
    assert long / short > tokens(512) / tokens(110)


def test_the_roof_is_two_positive_rates():
    assert all(rate > 0 for rate in roof(repeats=1))


def test_the_folder_holds_the_seeded_weights_of_the_work(tmp_path):
    save(tmp_path, SMALL, seed=0)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path).state_dict()
    seeded = random_model(model_config(SMALL), seed=0).state_dict()
    assert loaded.keys() == seeded.keys() and all(torch.equal(loaded[key], seeded[key]) for key in seeded)
    assert sum(weights.numel() for weights in random_model(model_config(Work())).parameters()) == 796_032


def test_the_folders_tokenizer_reads_one_word_as_one_token_and_its_end_is_no_token_of_the_model(tmp_path):
    save(tmp_path, SMALL)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    assert tokenizer(["t3 t1 t4 t1"])["input_ids"] == [[3, 1, 4, 1]]
    assert tokenizer.eos_token_id == tokenizer.pad_token_id == SMALL.vocab
    assert tokenizer.decode([0, 4, 2], skip_special_tokens=True).split() == ["<unk>", "t4", "t2"]


def test_every_product_of_the_work_has_positive_sizes():
    assert all(min(p.batch, p.m, p.k, p.n) > 0 and p.flops > 0 for p in products(SMALL))
