"""`check_engine` passes a sound engine and names each broken promise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.errors import EngineError
from motet.testing.check_engine import check_engine


def number(policy, prompt, index, uniform):
    return f"{uniform:.6f}"


def test_a_sound_engine_passes():
    assert check_engine(ScriptedEngine(number), "p") == [
        "voice",
        "shape",
        "repeat",
        "keys",
        "company",
        "greedy",
        "stop",
    ]


class Changed(ScriptedEngine):
    """Each answer changed by a function of the request, the answer and a running count."""

    def __init__(self, change, reply=number):
        super().__init__(reply)
        self.change = change

    async def sample(self, request):
        answers = await super().sample(request)
        return [self.change(request, answer, len(self.requests)) for answer in answers]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r, a, n: replace(a, logprobs=a.logprobs[1:]), "shape: answer 0 has 9 ids and 8 log-probs"),
        (lambda r, a, n: replace(a, logprobs=(float("nan"),) * 9), "shape: .*not finite"),
        (lambda r, a, n: replace(a, logprobs=(0.5,) * 9), "shape: .*above 0"),
        (lambda r, a, n: replace(a, token_ids=(1,) * 99, logprobs=(-1.0,) * 99), "shape: answer 0 has 99 ids"),
        (lambda r, a, n: replace(a, finish="done"), "shape: answer 0 finished by 'done'"),
        (lambda r, a, n: replace(a, token_ids=(n, *a.token_ids[1:])), "repeat: answer 0 differs"),
        (lambda r, a, n: replace(a, token_ids=(len(r.keys), *a.token_ids[1:])), "keys: answer 0 depends on the number"),
        (
            lambda r, a, n: replace(a, text=a.text + "9876543210") if r.sampling.stop else a,
            "stop: with the stop string",
        ),
    ],
)
def test_each_broken_promise_is_named(change, message):
    with pytest.raises(EngineError, match=message):
        check_engine(Changed(change), "p")


def test_an_answer_by_place_and_a_greedy_answer_by_key_are_named():
    with pytest.raises(EngineError, match="keys: answer 0 depends on its place"):
        check_engine(ScriptedEngine(lambda policy, prompt, index, uniform: str(index)), "p")
    by_key = Changed(lambda r, a, n: replace(a, token_ids=(r.keys[0] % 1000, *a.token_ids)[:9]))
    with pytest.raises(EngineError, match="greedy: a greedy answer depends on its key"):
        check_engine(by_key, "p")
