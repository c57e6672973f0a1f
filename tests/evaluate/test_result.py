from __future__ import annotations

import json

import pytest

from motet.errors import ConfigError
from motet.evaluate.result import Evaluation, best_of, evaluations_of, make_result, read_result, summarise
from motet.types import Call, CallKey, Candidate, Episode, Outcome

FIXED = {"name", "decoding", "checkpoint", "split", "num_tasks", "success", "low", "high", "tokens", "calls"}


def episode(task_id: str, solved: bool, answers: list[tuple[int, str]], team: float = 0.5, **more) -> Episode:
    calls = tuple(
        Call(CallKey("r", 0, turn), "p", 0, "t", (1, 2, 3), (Candidate("x", (7,) * num, (0.0,) * num, finish),), 0)
        for turn, (num, finish) in enumerate(answers)
    )
    outcome = None if more.get("error") else Outcome(solved, team)
    return Episode("s", task_id, "test", "eval", 0, 0, 0, calls, outcome, **more)


def summary(episodes):
    return summarise(episodes, name="team", decoding="sampled", checkpoint="final", split="test")


def test_an_evaluation_counts_success_tokens_calls_cut_answers_and_failures():
    one = summary(
        [
            episode("a", True, [(3, "eos"), (2, "length")], team=1.0),
            episode("b", False, [(4, "eos")], team=0.2),
            episode("c", False, [], error="boom"),
            episode("d", False, [(1, "stop")], team=0.0, extra_tokens=10, extra_calls=2),
        ]
    )
    assert (one.num_tasks, one.success, one.tokens, one.calls) == (4, 0.25, 20, 6)
    assert (one.prompt_tokens, one.truncated, one.failed, one.solved) == (12, 1, 1, "1000")
    assert one.team_reward == pytest.approx(1.2 / 4)
    assert (round(one.low, 4), round(one.high, 4)) == (0.0456, 0.6994)


def test_result_json_has_exactly_the_fixed_names(tmp_path):
    one = summary([episode("a", True, [(3, "eos")])])
    result = make_result(
        [one],
        train_seconds=12.34567,
        seed=3,
        settings_hash="ab",
        versions={"motet": "0"},
        hardware={"cores": 2},
    )
    assert set(result) == {
        "schema",
        "evaluations",
        "train_seconds",
        "seed",
        "settings_hash",
        "versions",
        "hardware",
    }
    assert set(result["evaluations"][0]) >= FIXED and result["train_seconds"] == 12.346
    path = tmp_path / "result.json"
    path.write_text(json.dumps(result))
    assert evaluations_of(read_result(path)) == [one]


def test_best_of_counts_a_task_solved_by_any_try():
    tries = [
        [episode("a", False, [(2, "eos")]), episode("b", False, [(2, "eos")])],
        [episode("a", True, [(3, "eos")]), episode("b", False, [(3, "eos")])],
    ]
    best = best_of(tries)
    assert (best.num_tries, best.success, best.tokens, best.calls) == (2, 0.5, 10, 4)


def test_best_of_survives_json():
    one = summary([episode("a", True, [(3, "eos")])])
    best = best_of([[episode("a", True, [(3, "eos")])]])
    record = Evaluation(**{**one.to_json(), "best_of": best})
    assert Evaluation.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_tries_of_different_tasks_are_refused():
    with pytest.raises(ConfigError, match="different tasks"):
        best_of([[episode("a", True, [])], [episode("b", True, [])]])
    with pytest.raises(ConfigError, match="at least one try"):
        best_of([])


def test_unknown_names_and_empty_evaluations_are_refused():
    with pytest.raises(ConfigError, match="'teem'"):
        Evaluation.of_counts("teem", "greedy", "final", "test", [True], tokens=0, calls=0)
    with pytest.raises(ConfigError, match="at least one task"):
        Evaluation.of_counts("team", "greedy", "final", "test", [], tokens=0, calls=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [(None, "has no result.json"), ("{", "cannot be read"), ('{"schema": 99}', "schema 99, this version reads")],
)
def test_a_missing_broken_or_foreign_result_says_so(tmp_path, content, message):
    path = tmp_path / "result.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError, match=message):
        read_result(path)
