"""Whole runs in which one role learns here and another is served by an endpoint."""

import json
import sys
from pathlib import Path
from typing import ClassVar

import pytest
import yaml

import motet
from motet.assess import Question, assess
from motet.config import load
from motet.config.resolve import resolve
from motet.errors import ConfigError, EngineError
from motet.rollout.records import read_episodes
from motet.tracking import Listener, read_metrics

sys.path.insert(0, str(Path(__file__).parent))
from remote_server import answer, serving

KEY = "sk-" + "z9" * 20


class Judged(motet.Workflow):
    """The planner says something, the judge grades it by a number, and that is what it is worth."""

    roles: ClassVar = {"planner": 1, "judge": 1}

    async def run(self, task, cast):
        said = await cast.planner.act("goal c01", score=lambda text: motet.Reward(team=len(text) % 7 / 7, local=0.5))
        verdict = await cast.judge.act(f"Grade this from 0 to 9: {said.text}")
        return motet.Outcome(success=verdict.text == "9", team=int(verdict.text) / 9)


class Ears(Listener):
    def __init__(self):
        self.notes = []

    def on_start(self, about):
        self.about = about

    def on_note(self, text):
        self.notes.append(text)


@pytest.fixture
def train(tiny_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("JUDGE_KEY", KEY)

    def train(server, **remote):
        ears = Ears()
        judge = {"kind": "remote", "base_url": server.base_url, "model": "grader", "api_key_env": "JUDGE_KEY"}
        report = motet.train(
            Judged,
            "plan_path",
            model=str(tiny_folder),
            runs=tmp_path / "runs",
            callbacks=[ears],
            cast={"planner": "planner", "judge": "judge"},
            policies={"planner": {"kind": "lora", "rank": 2}, "judge": {**judge, **remote}},
            role={"max_tokens": 4},
            roles={"judge": {"max_tokens": 3, "train": {"temperature": 0.5}}},
            sampling={"width": 3, "trees": 2},
            train={"iterations": 2},
            evaluate={"num_tasks": 2, "decodings": ["greedy"]},
            threads=1,
        )
        return report, ears

    return train


@pytest.fixture
def grader():
    with serving(lambda body, headers: answer(str(len(body["messages"][0]["content"]) % 10))) as server:
        yield server


def test_a_role_that_learns_and_a_judge_behind_an_endpoint_share_a_run(train, grader):
    report, ears = train(grader)
    assert ears.about["cast"] == [("planner", "planner", "local"), ("judge", "judge", "openai")]
    host = grader.base_url.removeprefix("http://").removesuffix("/v1")
    assert any(line.startswith(f"judge: grader at {host}; its answers are drawn by") for line in ears.about["lines"])
    episodes = read_episodes(report.folder.episodes)
    calls = [call for episode in episodes for call in episode.calls if call.key.role == "judge"]
    assert len(episodes) == len(calls) == 4
    assert {(len(call.candidates), call.trainable, call.policy_version) for call in calls} == {(1, False, 0)}
    assert {episode.outcome.team for episode in episodes} == {int(call.text) / 9 for call in calls}
    metrics = read_metrics(report.folder.metrics)
    assert not [key for line in metrics for key in line if key.startswith(("credit/", "update/")) and "judge" in key]
    assert all(line["rollout/prompt_tokens/judge"] > 0 for line in metrics)
    assert {body["temperature"] for body in grader.bodies} == {0.5, 0.0}  # training, greedy evaluation


def test_result_and_config_tell_what_served_the_judge_and_what_it_cost(train, grader):
    report, _ = train(grader)
    remote = json.loads(report.folder.result.read_text())["remote"]["judge"]
    host = grader.base_url.removeprefix("http://").removesuffix("/v1")
    asked = len(grader.asked)
    assert remote == {
        "host": host, "model": "grader", "has_own_generator": True,
        "requests": asked, "retries": 0, "prompt_tokens": 5 * asked, "completion_tokens": 2 * asked,
    }  # fmt: skip
    assert yaml.safe_load(report.folder.config.read_text())["remote"]["judge"]["requests"] == 4  # before evaluation
    assert asked == 4 + 2 * 2  # two tasks, at base and at the end


def test_the_key_is_in_no_file_of_the_run(train, grader):
    report, _ = train(grader)
    assert grader.asked[0][1]["Authorization"] == f"Bearer {KEY}"
    files = [path for path in report.folder.path.rglob("*") if path.is_file()]
    assert len(files) > 5
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert not [1 for one in read_episodes(report.folder.episodes) if KEY in repr(one)]


def test_a_run_with_a_judge_behind_an_endpoint_is_evaluated_again(train, grader):
    report, _ = train(grader)
    (found,) = assess(str(report.folder.path), Question(decoding="greedy", num_tasks=2))
    assert found.failed == 0 and found.calls == 4


def test_a_missing_key_is_refused_before_a_model_loads_and_leaves_no_folder(train, grader, tmp_path, monkeypatch):
    monkeypatch.delenv("JUDGE_KEY")
    monkeypatch.setattr("motet.parts.load", lambda *given, **named: pytest.fail("a model was loaded"))
    with pytest.raises(ConfigError, match="the environment variable JUDGE_KEY is not set"):
        train(grader)
    assert not (tmp_path / "runs").exists()


def test_an_endpoint_that_fails_ends_the_run_with_role_policy_host_and_status(train):
    with serving([(400, {"error": "unknown model"})]) as server, pytest.raises(EngineError) as caught:
        train(server)
    where = caught.value.where
    assert (where["role"], where["policy"], where["status"]) == ("judge", "judge", 400)
    assert "unknown model" in caught.value.what and server.base_url.split("/")[2] == where["host"]


REMOTE = {"kind": "remote", "base_url": "https://h.example/v1", "model": "m"}


def refused(**judge):
    data = {
        "tasks": [{"name": "plan_path"}],
        "workflow": {"name": "planner_executor"},
        "cast": {"planner": "planner", "executor": "judge"},
        "policies": {"planner": {}, "judge": judge},
    }
    with pytest.raises(ConfigError) as caught:
        resolve(load(data), {"planner": 1, "executor": 1})
    return str(caught.value)


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ({"kind": "remote", "model": "m"}, "the remote policy 'judge' has no base_url"),
        ({"kind": "remote", "base_url": "https://h.example/v1"}, "the remote policy 'judge' has no model"),
        ({**REMOTE, "base_url": "ftp://h.example"}, "policies.judge.base_url"),
        ({**REMOTE, "base_url": "https://me:secret@h.example/v1"}, "policies.judge.base_url"),
        ({**REMOTE, "base_url": "https://h.example/v1?api_key=secret"}, "policies.judge.base_url"),
        ({**REMOTE, "api_key_env": KEY}, "policies.judge.api_key_env"),
        ({**REMOTE, "api_key": KEY}, "unknown key 'policies.judge.api_key'.*did you mean 'api_key_env'"),
        ({**REMOTE, "request": {"api_key": "abcdef"}}, "seems to hold a secret"),
        ({**REMOTE, "request": {"user": KEY}}, "seems to hold a secret"),
        ({**REMOTE, "timeout_s": 0}, "policies.judge.timeout_s"),
    ],
)
def test_a_remote_policy_that_lacks_something_or_holds_a_secret_is_refused(judge, message):
    import re

    text = refused(**judge)
    assert re.search(message, text)
    assert KEY not in text and "secret@" not in text and "abcdef" not in text
