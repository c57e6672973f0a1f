from __future__ import annotations

import asyncio
import copy
import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.engines.base import Completion, Request
from motet.engines.local import LocalEngine, LocalSettings
from motet.engines.voice import HfVoice
from motet.errors import EngineError
from motet.rollout.counters import candidate_keys, uniforms
from motet.testing.check_engine import check_engine
from motet.types import Sampling

VOCAB, EOS = 30, 0
Zoo = dict[str, torch.nn.Module]


def ask(engine: LocalEngine, *requests: Request) -> list[list[Completion]]:
    async def run() -> list[list[Completion]]:
        return await asyncio.gather(*(engine.sample(r) for r in requests))

    return asyncio.run(run())


def engine_of(model: torch.nn.Module, voice: HfVoice, **settings: object) -> LocalEngine:
    return LocalEngine({"p": model}, {"p": voice}, LocalSettings(linger_s=0.0, **settings))  # type: ignore[arg-type]


def prompt(length: int, seed: int = 0) -> tuple[int, ...]:
    return tuple(random.Random(f"{length}/{seed}").randrange(3, VOCAB) for _ in range(length))


def request(length: int, key: int = 1, num: int = 2, **sampling: object) -> Request:
    settings = Sampling(**{"max_tokens": 6, **sampling})  # type: ignore[arg-type]
    return Request("p", prompt(length, key), candidate_keys(key, num), settings)


def naive(model: torch.nn.Module, ask: Request, key: int) -> tuple[list[int], list[float]]:
    """One candidate by full passes without cache, batch or padding."""
    ids, out, logprobs = list(ask.prompt_ids), [], []
    for u in uniforms((key,), ask.sampling.max_tokens)[0]:
        with torch.inference_mode():
            logits = model(input_ids=torch.tensor([ids])).logits[0, -1].double().numpy()
        scaled = logits / (1.0 if ask.sampling.greedy else ask.sampling.temperature)
        p = np.exp(scaled - scaled.max())
        p /= p.sum()
        token = int(np.argmax(logits)) if ask.sampling.greedy else int(np.searchsorted(np.cumsum(p), u, side="right"))
        ids.append(token)
        out.append(token)
        logprobs.append(float(np.log(p[token])))
        if token == EOS:
            break
    return out, logprobs


def test_greedy_equals_the_library_own_greedy_decoding(model: torch.nn.Module, voice: HfVoice) -> None:
    engine = engine_of(model, voice)
    for length in (1, 5, 16, 33):
        question = request(length, num=1, greedy=True, max_tokens=9)
        expected = model.generate(
            torch.tensor([question.prompt_ids]), do_sample=False, max_new_tokens=9, eos_token_id=EOS, pad_token_id=1
        )[0, length:].tolist()
        assert list(ask(engine, question)[0][0].token_ids) == expected


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.7])
def test_samples_equal_a_sampler_that_knows_no_cache_batch_or_padding(
    model: torch.nn.Module, voice: HfVoice, temperature: float
) -> None:
    questions = [request(n, key=n, num=3, temperature=temperature) for n in (2, 7, 16, 17, 30)]
    for question, answers in zip(questions, ask(engine_of(model, voice), *questions)):
        for key, answer in zip(question.keys, answers):
            ids, logprobs = naive(model, question, key)
            assert list(answer.token_ids) == ids
            assert answer.logprobs == pytest.approx(logprobs, abs=2e-5)
            assert answer.finish == ("eos" if ids[-1] == EOS else "length")


def test_a_row_is_bit_equal_alone_and_in_any_company_and_position(model: torch.nn.Module, voice: HfVoice) -> None:
    mine = request(21, key=5, num=1, max_tokens=8)
    alone = ask(engine_of(model, voice), mine)[0]
    for others in (7, 64):
        crowd = [request(3 + i % 40, key=100 + i, num=1 + i % 3, max_tokens=8) for i in range(others)]
        for place in (0, others // 2, others):
            together = ask(engine_of(model, voice), *crowd[:place], mine, *crowd[place:])
            assert together[place] == alone  # ids and log-probs, bit for bit


def test_a_candidate_does_not_depend_on_how_many_siblings_it_has(model: torch.nn.Module, voice: HfVoice) -> None:
    engine = engine_of(model, voice)
    eight = ask(engine, request(9, key=3, num=8))[0]
    assert ask(engine, request(9, key=3, num=1))[0] == eight[:1]
    assert ask(engine, request(9, key=3, num=5))[0] == eight[:5]


def test_no_number_depends_on_the_size_of_the_batches(model: torch.nn.Module, voice: HfVoice) -> None:
    questions = [request(5 + i, key=i, num=5, max_tokens=8) for i in range(9)]
    whole = ask(engine_of(model, voice), *questions)
    assert ask(engine_of(model, voice, max_rows=32, max_prefill_tokens=64), *questions) == whole
    assert ask(engine_of(model, voice, max_rows=32), request(5, key=0, num=70, max_tokens=8))[0][:5] == whole[0]


def test_each_prompt_is_computed_once_for_its_group(zoo: Zoo, voice: HfVoice) -> None:
    engine = engine_of(zoo["qwen3"], voice)
    ask(engine, request(9, key=1, num=8), request(40, key=2, num=8), request(9, key=3, num=1))
    assert engine.counters["prompt_computations"] == 3
    assert engine.counters["flushes"] == 1


def test_counters_tell_computed_from_useful_tokens(zoo: Zoo, voice: HfVoice) -> None:
    engine = engine_of(zoo["qwen3"], voice)
    ask(engine, request(10, num=1, max_tokens=1))
    prompts = engine._speakers["p"].buckets.prefill_counts(16)[0]
    assert engine.counters["forward_tokens"] == 16 * prompts
    assert engine.counters["useful_tokens"] == 10
    assert engine.padding_frac == pytest.approx(1 - 10 / (16 * prompts))


def test_rows_that_are_done_leave_the_batch(zoo: Zoo, voice: HfVoice) -> None:
    long = [request(8, key=k, num=8, max_tokens=40) for k in range(6)]
    engine = engine_of(zoo["qwen3"], voice)
    answers = [a for group in ask(engine, *long) for a in group]
    steps = max(len(a.token_ids) for a in answers) - 1
    prefill = 16 * engine._speakers["p"].buckets.prefill_counts(16)[-1]
    assert min(len(a.token_ids) for a in answers) < 10 < steps
    assert engine.counters["forward_tokens"] - prefill < 48 * steps
    assert engine.counters["sampled_tokens"] == sum(len(a.token_ids) for a in answers)


def test_an_end_token_first_is_an_answer_of_one_id_and_no_text(zoo: Zoo, voice: HfVoice) -> None:
    all_end = HfVoice(voice.tokenizer, dialect="compact", max_prompt_tokens=64, eos_ids=range(VOCAB))
    for answer in ask(engine_of(zoo["neox"], all_end), request(4, num=3))[0]:
        assert (len(answer.token_ids), len(answer.logprobs), answer.text, answer.finish) == (1, 1, "", "eos")


def test_pad_may_be_the_end_token(zoo: Zoo, voice: HfVoice) -> None:
    from transformers import PreTrainedTokenizerFast

    same = PreTrainedTokenizerFast(
        tokenizer_object=voice.tokenizer.backend_tokenizer, eos_token="<eos>", pad_token="<eos>", unk_token="<unk>"
    )
    other = HfVoice(same, dialect="compact", max_prompt_tokens=64)
    question = request(11, num=4, max_tokens=20)
    assert ask(engine_of(zoo["llama"], other), question) == ask(engine_of(zoo["llama"], voice), question)


def test_a_stop_string_ends_the_answer_and_stays_out_of_its_text(zoo: Zoo, voice: HfVoice) -> None:
    endless = HfVoice(voice.tokenizer, dialect="compact", max_prompt_tokens=64, eos_ids=())
    engine = engine_of(zoo["qwen3"], endless)
    free = ask(engine, request(8, num=6, max_tokens=20))[0]
    assert {(len(a.token_ids), a.finish) for a in free} == {(20, "length")}
    for index, answer in enumerate(free):
        stop = answer.text.split()[6]
        texts = [endless.decode(answer.token_ids[: n + 1]) for n in range(20)]
        num = next(n + 1 for n, text in enumerate(texts) if stop in text)
        held = ask(engine, request(8, num=6, max_tokens=20, stop=("nowhere", stop)))[0][index]
        assert (held.finish, held.token_ids) == ("stop", answer.token_ids[:num])
        assert held.logprobs == answer.logprobs[:num]
        assert held.text == texts[num - 1][: texts[num - 1].index(stop)]


def test_stop_strings_temperatures_and_greedy_differ_within_one_flush(zoo: Zoo, voice: HfVoice) -> None:
    kinds = [{}, {"stop": ("w7",)}, {"temperature": 0.3}, {"greedy": True}, {"top_k": 2}, {"max_tokens": 3}]
    questions = [request(10, key=i, num=2, **kind) for i, kind in enumerate(kinds)]
    engine = engine_of(zoo["qwen3"], voice)
    together = ask(engine, *questions)
    assert engine.counters["flushes"] == 1
    assert together == [ask(engine, question)[0] for question in questions]


def test_a_cap_of_one_token_and_one_candidate_work(model: torch.nn.Module, voice: HfVoice) -> None:
    question = request(5, num=1, max_tokens=1)
    assert list(ask(engine_of(model, voice), question)[0][0].token_ids) == naive(model, question, question.keys[0])[0]


def test_two_policies_serve_side_by_side_and_count_versions_apart(zoo: Zoo, voice: HfVoice) -> None:
    engine = LocalEngine({"a": zoo["qwen3"], "b": zoo["neox"]}, {"a": voice, "b": voice}, LocalSettings(linger_s=0.0))
    question = request(6)
    both = ask(engine, replace(question, policy="a"), replace(question, policy="b"))
    assert both[0] == ask(engine_of(zoo["qwen3"], voice), question)[0]
    assert both[1] == ask(engine_of(zoo["neox"], voice), question)[0]
    engine.publish("b", 3)
    assert (engine.version("a"), engine.version("b")) == (0, 3)


def test_weights_changed_in_place_serve_at_once_and_the_model_keeps_its_mode(voice: HfVoice, zoo: Zoo) -> None:
    model = copy.deepcopy(zoo["qwen3"]).train()
    engine = engine_of(model, voice)
    before = ask(engine, request(6, num=4))
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(1.5)
    assert ask(engine, request(6, num=4)) != before
    assert model.training and all(p.requires_grad for p in model.parameters())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"policy": "q"}, "does not serve"),
        ({"prompt_ids": ()}, "at least one prompt token"),
        ({"prompt_ids": (3, 99)}, "outside"),
        ({"sampling": Sampling(temperature=0.0)}, "temperature 0.0"),
        ({"sampling": Sampling(max_tokens=0)}, "no room"),
        ({"sampling": Sampling(stop=("",))}, "empty stop"),
        ({"sampling": Sampling(max_tokens=600)}, "positions of 512"),
        ({"sampling": Sampling(top_p=0.9)}, "cuts the support"),
    ],
)
def test_what_cannot_be_sampled_is_refused_by_name(
    zoo: Zoo, voice: HfVoice, change: dict[str, object], says: str
) -> None:
    engine = engine_of(zoo["qwen3"], voice, full_support_only=True)
    with pytest.raises(EngineError, match=says):
        ask(engine, replace(request(5), **change))  # type: ignore[arg-type]


def test_weights_that_are_not_finite_are_an_error_of_every_waiting_call(voice: HfVoice, zoo: Zoo) -> None:
    model = copy.deepcopy(zoo["qwen3"])
    engine = engine_of(model, voice)
    ask(engine, request(5))
    with torch.no_grad():
        model.lm_head.weight.fill_(float("nan"))
    with pytest.raises(EngineError, match="not finite"):
        ask(engine, request(5))


def test_the_engine_resolves_threads_dtype_and_row_counts_once(zoo: Zoo, voice: HfVoice) -> None:
    engine = engine_of(zoo["qwen3"], voice)
    ask(engine, request(5))
    resolved = engine.resolved()
    policy = resolved["policies"]["p"]  # type: ignore[index]
    assert (resolved["threads"], policy["dtype"], policy["device"]) == (1, "float32", "cpu")
    assert policy["rows"]["decode"][-1] == 256 and "16" in policy["rows"]["prefill"]


def test_the_engine_passes_the_shipped_conformance_check(model: torch.nn.Module, voice: HfVoice) -> None:
    engine = engine_of(model, voice)
    assert "company" in check_engine(engine, "p", prompt="w1 w2 w3", sampling=Sampling(max_tokens=12))


_QUESTION = st.builds(
    request,
    st.integers(1, 50),
    key=st.integers(0, 99),
    num=st.integers(1, 9),
    max_tokens=st.integers(1, 6),
    temperature=st.sampled_from([0.5, 1.0, 2.0]),
    greedy=st.booleans(),
    stop=st.sampled_from([(), ("w7",), ("w1", "w2")]),
)


@settings(max_examples=8, deadline=None)
@given(questions=st.lists(_QUESTION, min_size=1, max_size=8))
def test_any_mix_of_calls_gives_what_each_gives_alone(zoo: Zoo, voice: HfVoice, questions: list[Request]) -> None:
    engine = engine_of(zoo["qwen3"], voice)
    together = ask(engine, *questions)
    assert engine.counters["prompt_computations"] == len(questions)
    assert together == [ask(engine, question)[0] for question in questions]
