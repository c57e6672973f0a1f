from __future__ import annotations

from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from motet.engines.voice import HfVoice, find_stop
from motet.errors import EngineError
from motet.types import Call, CallKey, Candidate, Message

WORDS = ["<eos>", "<unk>", "<user>", "<assistant>", "up", "down", "left", "go", "<end>", "STOP", "."]
TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    "<{{ m.role }}> {{ m.content }} <end> {% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def voice(template: str | None = TEMPLATE, **settings: Any) -> HfVoice:
    backend = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", unk_token="<unk>")
    tokenizer.chat_template = template
    return HfVoice(tokenizer, dialect="chat", max_prompt_tokens=99, **settings)


def spoken(ids: tuple[int, ...], text: str, tokenizer_id: str) -> Call:
    answer = Candidate(text, ids, (0.0,) * len(ids), "eos")
    return Call(CallKey("planner"), "p", 0, tokenizer_id, (7,), (answer,), 0)


def test_plain_text_is_encoded_without_special_tokens_and_decoded_back() -> None:
    assert voice().encode("go up down") == (7, 4, 5)
    assert voice().decode((7, 4, 0)) == "go up"


def test_a_conversation_goes_through_the_template_and_is_open_for_the_answer() -> None:
    messages = [Message("user", "go up"), Message("assistant", "down"), Message("user", "left")]
    assert voice().encode_chat(messages) == (2, 7, 4, 8, 3, 5, 8, 2, 6, 8, 3)


def test_a_reader_with_the_same_tokenizer_gets_the_sampled_ids_less_the_end_token() -> None:
    own = voice()
    call = spoken((4, 1, 4, 0), "up ?? up", own.tokenizer_id)  # its text would be encoded otherwise
    assert own.encode_chat([Message("user", call)]) == (2, 4, 1, 4, 8, 3)


def test_a_reader_with_another_tokenizer_gets_the_text() -> None:
    call = spoken((90, 91, 92), "go left", "another")
    assert voice().encode_chat([Message("user", call)]) == (2, 7, 6, 8, 3)


def test_two_earlier_calls_keep_their_places_even_beside_private_characters() -> None:
    own = voice()
    one, two = spoken((4,), "up", own.tokenizer_id), spoken((5, 0), "down", own.tokenizer_id)
    messages = [Message("user", one), Message("assistant", two), Message("user", "\ue0000\ue000")]
    assert own.encode_chat(messages) == (2, 4, 8, 3, 5, 8, 2, 1, 8, 3)


def test_no_template_and_a_template_that_refuses_are_errors_with_a_way_out() -> None:
    with pytest.raises(EngineError, match="no chat template"):
        voice(template=None).encode_chat([Message("user", "go")])
    with pytest.raises(EngineError, match="no system role"):
        voice().encode_chat([Message("system", "go")])


def test_the_tokenizer_id_is_that_of_vocabulary_and_template() -> None:
    assert voice().tokenizer_id == voice(eos_ids=(0, 8)).tokenizer_id
    assert voice().tokenizer_id != voice(template=None).tokenizer_id
    assert len(voice().tokenizer_id) == 16


def test_several_end_tokens_are_kept() -> None:
    assert voice().eos_ids == {0}
    assert voice(eos_ids=(0, 8)).eos_ids == {0, 8}


def test_only_ids_that_hold_the_last_character_of_a_stop_string_are_looked_at() -> None:
    assert voice().completes_stop(("STOP",), 11).nonzero()[:, 0].tolist() == [9]
    assert voice().completes_stop((".", "go"), 11).nonzero()[:, 0].tolist() == [0, 5, 7, 10]  # o is in <eos>, too


def test_a_stop_string_that_ends_in_white_space_is_looked_for_after_every_token() -> None:
    assert bool(voice().completes_stop(("up ",), 11).all())


def test_the_earliest_of_several_stop_strings_counts() -> None:
    assert find_stop("go up. Then", ("Then", ".")) == 5
    assert find_stop("go", (".",)) is None
