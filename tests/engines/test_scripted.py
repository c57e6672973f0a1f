from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.engines.base import Request
from motet.engines.scripted import END, CharacterVoice, ScriptedEngine
from motet.errors import EngineError
from motet.rollout.counters import candidate_keys, uniforms
from motet.types import Sampling


def sample(engine, **sampling):
    request = Request("p", (65, 66), candidate_keys(1, 3), Sampling(**sampling))
    return asyncio.run(engine.sample(request))


def test_ids_are_code_points_and_the_end_token_is_0():
    answers = sample(ScriptedEngine(lambda policy, prompt, index, uniform: f"{policy}{prompt}{index}"))
    assert [a.token_ids for a in answers] == [(112, 65, 66, 48 + i, END) for i in range(3)]
    assert [a.text for a in answers] == ["pAB0", "pAB1", "pAB2"]
    assert [a.logprobs for a in answers] == [(-1.0,) * 5] * 3
    assert [a.finish for a in answers] == ["eos"] * 3


def test_the_uniform_is_the_first_of_the_candidate_and_greedy_sees_one_half():
    seen = []
    sample(ScriptedEngine(lambda policy, prompt, index, uniform: seen.append(uniform) or "x"))
    assert seen == uniforms(candidate_keys(1, 3), 1)[:, 0].tolist()
    assert [a.text for a in sample(ScriptedEngine(lambda *args: str(args[3])), greedy=True)] == ["0.5"] * 3


@pytest.mark.parametrize(
    ("sampling", "ids", "text", "finish"),
    [
        ({"max_tokens": 3}, (97, 98, 99), "abc", "length"),
        ({"max_tokens": 6}, (97, 98, 99, 100, 101, 0), "abcde", "eos"),
        ({"max_tokens": 5}, (97, 98, 99, 100, 101), "abcde", "length"),
        ({"stop": ("cd",)}, (97, 98, 99, 100), "ab", "stop"),
        ({"stop": ("e", "cd")}, (97, 98, 99, 100), "ab", "stop"),
        ({"stop": ("cd",), "max_tokens": 3}, (97, 98, 99), "ab", "length"),
    ],
)
def test_caps_and_stop_strings(sampling, ids, text, finish):
    answer = sample(ScriptedEngine(lambda *args: "abcde"), **sampling)[0]
    assert (answer.token_ids, answer.text, answer.finish) == (ids, text, finish)


@given(st.text(st.characters(blacklist_characters="\x00")))
def test_the_voice_is_reversible(text):
    voice = CharacterVoice()
    assert voice.decode((*voice.encode(text), END)) == text


def test_requests_voices_and_versions_are_kept():
    own = CharacterVoice("chat", tokenizer_id="own")
    engine = ScriptedEngine(lambda *args: "x", voices={"q": own}, versions={"q": 4})
    sample(engine)
    assert [request.policy for request in engine.requests] == ["p"]
    assert (engine.voice("q"), engine.version("q"), engine.version("p")) == (own, 4, 0)


def test_a_reply_that_is_no_text_is_named():
    with pytest.raises(EngineError, match=r"the reply is None, not text \[policy=p candidate=0\]"):
        sample(ScriptedEngine(lambda *args: None))
