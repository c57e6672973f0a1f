"""From observations to ids, with a tokenizer of one id per character."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from motet.engines.scripted import END, CharacterVoice, ScriptedEngine
from motet.errors import WorkflowError
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.rendering import render
from motet.types import Message, Outcome, Prompt, Reward

CHAT, COMPACT = CharacterVoice("chat"), CharacterVoice("compact")


@dataclass(frozen=True)
class Said:
    """The sampled ids are not what the tokenizer would make of the text."""

    text: str = "ab"
    token_ids: tuple[int, ...] = (1001, 1002, END)
    tokenizer_id: str = "characters"
    finish: str = "eos"


def ids(text):
    return tuple(map(ord, text))


def test_text_is_one_user_message_in_chat_and_itself_in_compact():
    assert render("hi", {}, CHAT) == (ids("<user>hi</><assistant>"), 0)
    assert render("hi", {}, COMPACT) == (ids("hi"), 0)


def test_a_reader_with_the_same_tokenizer_gets_the_sampled_ids_and_no_second_end_token():
    messages = [Message("system", "S"), Message("assistant", Said()), Message("user", "go")]
    assert render(messages, {}, CHAT)[0] == (
        *ids("<system>S</><assistant>"), 1001, 1002, *ids("</><user>go</><assistant>"),
    )  # fmt: skip
    assert render(messages, {}, COMPACT)[0] == (*ids("S"), 1001, 1002, *ids("go"))


def test_another_reader_gets_the_text():
    messages = [Message("user", Said(tokenizer_id="other")), Message("user", "go")]
    assert render(messages, {}, CHAT)[0] == ids("<user>ab</><user>go</><assistant>")
    assert render(messages, {}, COMPACT)[0] == ids("abgo")


def test_a_truncated_call_keeps_its_last_id():
    cut = Said(token_ids=(1001, 1002), finish="length")
    assert render([Message("user", cut)], {}, COMPACT)[0] == (1001, 1002)


def test_a_prompt_speaks_the_dialect_of_its_reader_and_one_dialect_is_enough():
    prompts = {
        "both": {
            "chat": lambda v: [Message("system", "S"), Message("user", v["x"])],
            "compact": lambda v: v["x"].upper(),
        },
        "one": {"chat": lambda v: v["x"]},
    }
    assert render(Prompt("both", x="q"), prompts, CHAT)[0] == ids("<system>S</><user>q</><assistant>")
    assert render(Prompt("both", x="q"), prompts, COMPACT)[0] == ids("Q")
    assert render(Prompt("one", x="q"), prompts, COMPACT)[0] == ids("q")


@pytest.mark.parametrize(
    ("observation", "message"),
    [
        (Prompt("bth"), r"unknown prompt 'bth' \[role=a\].*did you mean 'both'"),
        (Prompt("both"), r"no dialect 'other'.*chat, compact"),
        ("", "prompt is empty"),
        (7, "type int"),
        ([], "type list"),
        (["text"], "type list"),
    ],
)
def test_what_cannot_be_shown_is_named(observation, message):
    prompts = {"both": {"chat": lambda v: "x", "compact": lambda v: "x"}}
    with pytest.raises(WorkflowError, match=message):
        render(observation, prompts, CharacterVoice("other"), where={"role": "a"})


def test_case_27_the_stated_policy_decides_on_a_prompt_that_is_too_long():
    short = CharacterVoice("compact", max_prompt_tokens=6)
    history = [Message("system", "S"), Message("user", "one"), Message("assistant", Said()), Message("user", "now")]
    with pytest.raises(WorkflowError, match=r"9 tokens, 6 fit.*role=a"):
        render(history, {}, short, where={"role": "a"})
    assert render(history, {}, short, overlong="truncate_left") == ((ord("e"), 1001, 1002, *ids("now")), 3)
    assert render(history, {}, short, overlong="drop_oldest") == ((ord("S"), 1001, 1002, *ids("now")), 3)
    with pytest.raises(WorkflowError, match="7 tokens, 6 fit"):
        render(
            [Message("system", "long"), Message("user", "xyz"), Message("user", "now")],
            {},
            short,
            overlong="drop_oldest",
        )
    with pytest.raises(WorkflowError, match="7 tokens, 6 fit"):
        render("1234567", {}, short, overlong="drop_oldest")


def test_case_27_dropped_prompt_tokens_and_cut_answers_are_recorded(play):
    class Long:
        roles = {"a": 1}

        async def run(self, task, cast):
            await cast.a.act("123456789", score=lambda text: Reward(local=0.5))
            return Outcome(True, 1.0)

    engine = ScriptedEngine(lambda *args: "x" * 100, voice=CharacterVoice(max_prompt_tokens=4))
    (episode,) = play(Long(), engine, overlong="truncate_left")
    (call,) = episode.calls
    assert (call.prompt_ids, call.prompt_dropped) == (ids("6789"), 5)
    assert {(c.finish, len(c.token_ids)) for c in call.candidates} == {("length", 64)}
    with pytest.raises(WorkflowError, match=r"9 tokens, 4 fit.*task=t-0 role=a slot=0 turn=0"):
        play(Long(), engine)


def test_a_message_in_a_workflow_may_hold_an_earlier_call(play):
    class Reads:
        roles = {"a": 1, "same": 1, "other": 1}

        async def run(self, task, cast):
            call = await cast.a.act("?", score=lambda text: Reward(local=0.5))
            for role in ("same", "other"):
                await cast[role].act([Message("user", call)], score=lambda text: Reward(local=0.5))
            return Outcome(True, 1.0)

    class Merging(CharacterVoice):
        """Decodes what it sampled, but would encode the text otherwise."""

        def encode(self, text):
            return (2000,) if text == "hello" else super().encode(text)

    engine = ScriptedEngine(lambda *args: "hello", voice=CharacterVoice(), voices={
        "same": Merging(), "other": Merging(tokenizer_id="merging"),
    })  # fmt: skip
    (episode,) = play(Reads(), engine, cast=Cast.per_role(Reads.roles, PolicySpec("x")))
    _, same, other = episode.calls
    assert same.prompt_ids == ids("hello")
    assert other.prompt_ids == (2000,)


def test_an_error_inside_a_prompt_names_task_role_and_turn(play):
    class Bad:
        roles = {"a": 1}

        def __init__(self):
            self.prompts = {"p": {"compact": lambda values: values["missing"]}}

        async def run(self, task, cast):
            await cast.a.act(Prompt("p"))

    with pytest.raises(WorkflowError, match=r"the prompt raised KeyError: 'missing' \[task=t-0 role=a slot=0 turn=0\]"):
        play(Bad())
