import json

import pytest

from motet.cli.app import run
from motet.errors import ConfigError, EngineError, TaskError
from motet.policies.models import load
from motet.rollout.records import write_episodes
from motet.supervise import read_answers, supervise, winners
from motet.types import Call, CallKey, Candidate, Episode, Outcome


@pytest.fixture(scope="module")
def base(tiny_folder):
    return load(str(tiny_folder))


def episode(success, role="planner", ids=(5, 1), finish="eos", tokenizer="?", chosen=0):
    answers = (Candidate("x", ids, (-1.0,) * len(ids), finish), Candidate("y", (9, 1), (-1.0, -1.0), "eos"))
    call = Call(CallKey(role), "p", 0, tokenizer, (2, 3), answers, chosen)
    return Episode("s", "t", "train", "train", 0, 0, 0, (call,), Outcome(success, 1.0))


def test_a_row_becomes_its_prompt_and_its_answer_with_the_end_token(base, tmp_path):
    path = tmp_path / "rows.jsonl"
    rows = [
        {"prompt": "goal c01", "answer": "c02 c03"},
        {"role": "executor", "prompt": "x", "answer": "y"},
        {"role": "planner", "prompt": "goal", "answer": "c00"},
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    found = [(one.prompt_ids, one.completion_ids) for one in read_answers(path, "planner", base)]
    word = base.tokenizer.convert_tokens_to_ids
    assert found == [((word("goal"), word("c01")), (word("c02"), word("c03"), 1)), ((word("goal"),), (word("c00"), 1))]


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "no JSON"), ('{"prompt": "x"}', "a prompt and an answer"), ('{"prompt": 3, "answer": "x"}', "a prompt is")],
)
def test_a_malformed_row_is_refused_with_its_line(base, tmp_path, line, message):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "a", "answer": "b"}\n' + line)
    with pytest.raises(TaskError, match=f"{message}.*line=2"):
        read_answers(path, "planner", base)


def test_the_winners_of_a_run_are_the_chosen_answers_of_won_episodes_token_for_token(base):
    voice = base.voice()
    mine = {"tokenizer": voice.tokenizer_id}
    episodes = [
        episode(True, ids=(5, 6, 1), **mine),
        episode(True, chosen=1, **mine),
        episode(False, **mine),
        episode(True, role="executor", **mine),
        episode(True, finish="length", **mine),
    ]
    assert [(one.prompt_ids, one.completion_ids) for one in winners(episodes, "planner", voice)] == [
        ((2, 3), (5, 6, 1)),
        ((2, 3), (9, 1)),
    ]
    with pytest.raises(EngineError, match="another tokenizer"):
        winners([episode(True)], "planner", voice)


def test_a_role_learns_its_answers_and_the_model_can_be_named_as_a_base(tiny_folder, tmp_path, capsys):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "goal c01", "answer": "c02"}\n')
    out = tmp_path / "warm"
    words = ["--role", "planner", "--out", str(out), "--model", str(tiny_folder), "--epochs", "60", "--lr", "0.01"]
    assert run(["sft", str(path), *words]) == 0
    assert capsys.readouterr().out.startswith("60 steps, loss ")
    warm = load(str(out))
    ids = warm.tokenizer("goal c01", return_tensors="pt")["input_ids"]
    assert warm.tokenizer.decode(warm.model(ids).logits[0, -1].argmax()) == "c02"
    assert run(["sft", str(path), *words]) == 2
    assert "not empty" in capsys.readouterr().err


def test_a_run_without_a_won_episode_of_the_role_is_refused(tiny_folder, tmp_path):
    folder = tmp_path / "runs" / "demo"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text("x")
    write_episodes(folder / "episodes.jsonl.gz", [episode(False)])
    steps = supervise("demo", role="planner", out=tmp_path / "o", model=str(tiny_folder), runs=tmp_path / "runs")
    with pytest.raises(ConfigError, match="no answer of role 'planner'"):
        next(steps)
