from __future__ import annotations

import pytest

from motet.engines.scripted import ScriptedEngine
from motet.errors import ConfigError
from motet.evaluate.variants import Ablated, Variant, shuffled, solo, variants_of
from motet.policies.cast import Cast, PolicySpec
from motet.rollout.runner import run_batch
from motet.rollout.settings import RolloutSettings
from motet.types import Call, CallKey, Candidate, Episode, Message, Outcome, Reward
from motet.workflows.base import Workflow


def said(task_id: str, *lines: tuple[str, int, str]) -> Episode:
    calls = tuple(
        Call(CallKey(role, 0, turn), role, 0, "t", (1,), (Candidate(text, (1,), (0.0,), "eos"),), 0)
        for role, turn, text in lines
    )
    return Episode("s", task_id, "test", "eval", 0, 0, 0, calls, Outcome(True, 1.0))


def test_plans_move_to_the_next_task_that_spoke_at_that_turn_and_never_stay():
    episodes = [
        said("a", ("planner", 0, "a0"), ("executor", 0, "x"), ("planner", 1, "a1")),
        said("b", ("planner", 0, "b0")),
        said("c", ("planner", 0, "c0"), ("planner", 1, "c1")),
    ]
    line = shuffled(episodes, "planner")
    found = {(task, turn): line(task, CallKey("planner", 0, turn)) for task in "abc" for turn in (0, 1, 2)}
    assert found == {
        ("a", 0): "b0",
        ("b", 0): "c0",
        ("c", 0): "a0",
        ("a", 1): "c1",  # b solved its task in one turn, so the next one that spoke
        ("b", 1): "c1",
        ("c", 1): "a1",
        ("a", 2): "",  # nobody got that far
        ("b", 2): "",
        ("c", 2): "",
    }


def test_plans_of_one_task_cannot_be_shuffled():
    with pytest.raises(ConfigError, match="two tasks or more"):
        shuffled([said("a", ("planner", 0, "a0"))], "planner")


class Choir(Workflow):
    """Two voters of two slots speak side by side; the leader reads them as messages and speaks twice."""

    roles = {"voter": 2, "leader": 1}

    async def run(self, task, cast):
        votes = await cast.gather(*(voter.act("vote", score=judge, turn=4) for voter in cast.voter))
        heard = await cast["leader"].act([Message("user", vote) for vote in votes], read=str.upper)
        again = await cast.leader.act("again", read=str.upper)
        return Outcome(True, 1.0, {"votes": len(votes), "length": len(heard.notes + again.notes)})


def judge(text):
    return Reward(local=1.0, notes=f"<{text}>")


class Task:
    id = "t"


def play(workflow, reply):
    cast = Cast.shared(Choir.roles, PolicySpec("p", engine="s"))
    engine = ScriptedEngine(reply)
    (episode,) = run_batch(
        workflow,
        [("s", Task(), 0)],
        cast,
        {"s": engine},
        RolloutSettings(),
        phase="eval",
        ticket=0,
        seed=0,
        split="test",
    )
    prompts = ["".join(chr(token) for token in call.prompt_ids if token) for call in episode.calls]
    return episode, prompts


def test_stand_ins_of_several_slots_speak_in_gather_and_are_read_as_messages():
    asked = []

    def line(task_id, key):
        asked.append((task_id, key))
        return f"v{key.slot}"

    episode, prompts = play(Ablated(Choir(), {"voter": line}), lambda *_: "ok")
    assert asked == [("t", CallKey("voter", 0, 4)), ("t", CallKey("voter", 1, 4))]
    assert prompts == ["v0v1", "again"]
    assert [str(call.key) for call in episode.calls] == ["leader[0] turn 0", "leader[0] turn 1"]


def test_a_stand_in_reads_its_text_and_echo_repeats_the_latest_words():
    episode, _ = play(Ablated(Choir(), echo={"leader": "voter"}), lambda policy, prompt, index, uniform: "abc")
    assert episode.outcome.metrics == {"votes": 2, "length": 6}
    assert [call.key.role for call in episode.calls] == ["voter", "voter"]


def test_turns_of_a_stand_in_count_its_earlier_calls():
    turns = []
    play(Ablated(Choir(), {"leader": lambda task_id, key: str(turns.append(key.turn))}), lambda *_: "ok")
    assert turns == [0, 1]


def test_nothing_replaced_is_the_workflow_itself():
    assert play(Ablated(Choir()), lambda *_: "ok") == play(Choir(), lambda *_: "ok")


def test_unknown_roles_are_named():
    with pytest.raises(ConfigError, match=r"no role 'leeder'.*write 'leader'"):
        Ablated(Choir(), {"leeder": lambda *_: ""})


class Declares(Choir):
    def variants(self):
        return {"leader_alone": {"silent": ["voter"], "role": "leader"}}


class Wrong(Choir):
    def variants(self):
        return {"nobody": {"silent": ["voter", "leader"]}}


def test_a_workflow_declares_its_variants_and_one_without_planner_has_none():
    assert variants_of(Declares()) == [Variant("leader_alone", ("voter",), {}, "leader")]
    assert variants_of(Choir()) == []
    with pytest.raises(ConfigError, match="'nobody' replaces every role"):
        variants_of(Wrong())


def test_a_role_alone_is_its_variant_or_one_policy_in_every_place():
    cast = Cast.per_role(Choir.roles, PolicySpec("p", engine="s"))
    workflow, same = solo(Declares(), cast, "leader")
    assert isinstance(workflow, Ablated) and same is cast
    plain, everywhere = solo(Choir(), cast, "voter")
    assert isinstance(plain, Choir) and set(everywhere.policies) == {"voter"}
    with pytest.raises(ConfigError, match="no role 'singer'"):
        solo(Choir(), cast, "singer")
