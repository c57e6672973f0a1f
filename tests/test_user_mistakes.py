"""What a user can get wrong before a model is loaded: each ends in one message with its place, exit code 2."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import pytest

import motet
from motet.build import held_out, nth_held_out
from motet.cli.app import explained, run
from motet.errors import ConfigError, MotetError, TaskError, WorkflowError, visible
from motet.tasks.listed import TaskList


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("update.lr=.inf", "finite number"),
        ("update.betas=[1,2]", "'update.betas.0': input should be less than 1"),
        ("device=banana", "'device'"),
        ("seed=100000000000000000000000000000", "'seed'"),
        ("seed=-1", "'seed'"),
        ("tasks=[]", "'tasks'"),
        ("tasks=[plan_path]", "'tasks.0'"),
        ("workflow=5", "'workflow'"),
        ("workflow.name=nomod:Cls", "cannot import 'nomod'"),
        ("workflow.name=os:path", "this is no workflow"),
        ("workflow.name=motet.types:Reward", "this is no workflow"),
        ("tasks.0.name=math:pi", "makes no task set"),
        ("tasks.0.name=builtins:str", "makes no task set"),
        ("tasks.0.settings.size=banana", "size is 'banana'"),
        ("role.stop=['']", "'role.stop.0'"),
        ("name=a/b", "'name'"),
        ("evaluate.split=nosuch", "no split 'nosuch'"),
        ("sampling.score_timeout_s=.inf", "finite number"),
        ("sampling.score_timeout_s=.nan", "finite number"),
        ("role.max_tokens=0", "'role.max_tokens'"),
        ("sampling.width=2.5", "'sampling.width'"),
        ("train.iterations=-1", "'train.iterations'"),
        ("seed=!foo 3", "this is no value"),
        ("description=2026-13-45", "month must be in 1..12"),
        ("tasks=&a [*a]", "more than 40 levels"),
        ("tasks=[{name: plan_path}, {name: plan_path}]", "a name of its own"),
        ("roles.planner.train={temperatur: 1}", "did you mean 'temperature'"),
        ("policies={planner: {targts: []}}", "did you mean 'targets'"),
    ],
)
def test_a_wrong_setting_is_one_message_and_code_2(override, message, capsys):
    assert run(["train", "smoke", override, "--show"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and "  where: " in error and "  to fix it: " in error
    assert message in error and "Traceback" not in error
    assert "command line" in error or "smoke.yaml" in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"\xff\xfe\x00", "the recipe cannot be read"),
        (b"", "key 'tasks' is missing"),
        (b"seed: !!python/name:os.system\n", "this is no value"),
        (b"a: &a [*a]\n", "more than 40 levels"),
        (b"{[1]: 2}: 3\n", "found unhashable key"),
        (b"<<: {seed: 1}\n", "this is no value"),
        (b"tasks:\n- plan_path\nworkflow: planner_executor\n", "'tasks.0'"),
    ],
)
def test_a_broken_recipe_is_one_message_and_code_2(text, message, tmp_path, capsys):
    path = tmp_path / "mine.yaml"
    path.write_bytes(text)
    assert run(["train", str(path), "--show"]) == 2
    assert message in capsys.readouterr().err


def test_a_workflow_that_cannot_be_imported_says_where_its_own_code_failed(tmp_path, monkeypatch, capsys):
    (tmp_path / "broken_flow.py").write_text("\n\nimport nothing_of_this_name_exists\n")
    (tmp_path / "raising_flow.py").write_text(
        "import motet\nclass Flow(motet.Workflow):\n    roles = {'a': 1}\n    def __init__(self):\n        1 / 0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for name, line in (("broken_flow:Flow", 3), ("raising_flow:Flow", 5)):
        assert run(["train", "smoke", f"workflow={{name: {name}}}", "--show"]) == 2
        error = capsys.readouterr().err
        assert f"{name.partition(':')[0]}.py line {line}" in error and "smoke.yaml" not in error


@dataclass(frozen=True)
class Numbered:
    id: str


class Plays(motet.Workflow):
    roles: ClassVar = {"a": 1}

    async def run(self, task, cast):
        return motet.Outcome(True, 1.0)


def with_roles(roles):
    return type("Team", (Plays,), {"roles": roles})


FINE = TaskList("fine", train=[Numbered("1")], test=[Numbered("2")])


class Odd:
    """A task set that does what `does` says."""

    name, splits = "odd", ("train", "test")

    def __init__(self, does):
        self.does = does

    def size(self, split):
        return self.does("size")

    def task(self, split, index):
        return self.does("task")


@pytest.mark.parametrize(
    ("workflow", "tasks", "message"),
    [
        (with_roles(("planner", "executor")), FINE, "`roles` is a tuple"),
        (with_roles({}), FINE, "a workflow without a role"),
        (with_roles({"a b": 1}), FINE, "'a b' is no role name"),
        (with_roles({"1st": 1}), FINE, "'1st' is no role name"),
        (with_roles({"a\n": 1}), FINE, "is no role name"),
        (with_roles({"a": 0}), FINE, "role 'a' has 0 slots"),
        (with_roles({"a": True}), FINE, "role 'a' has True slots"),
        (with_roles({"a": "2"}), FINE, "role 'a' has '2' slots"),
        (object(), FINE, "this is no workflow"),
        (None, FINE, "this is no workflow"),
        (Plays, [], "there is no task set"),
        (Plays, 5, "no task set: it has no `name`"),
        (Plays, [(FINE, "heavy")], "a weight is 'heavy'"),
        (Plays, [FINE, FINE], "a name of its own"),
        (Plays, Odd({"size": 0}.get), "split 'test' is empty"),
        (Plays, Odd(lambda what: 1 if what == "size" else 1 / 0), "the task set raised ZeroDivisionError"),
        (Plays, Odd(lambda what: 1 / 0), "the size of a split raised ZeroDivisionError"),
        (Plays, Odd({"size": 3, "task": SimpleNamespace()}.get), "a task has no text as id"),
        (Plays, Odd({"size": 3, "task": SimpleNamespace(id=7)}.get), "a task has no text as id"),
    ],
)
def test_a_wrong_workflow_or_task_set_is_refused_before_a_model_loads(workflow, tasks, message, tmp_path):
    with pytest.raises(MotetError, match=message):
        motet.train(workflow, tasks, model="no-such-model", runs=tmp_path, callbacks=[])
    assert not list(tmp_path.iterdir())


def test_an_empty_split_gives_an_error_and_no_invented_task():
    with pytest.raises(TaskError, match="split 'test' is empty"):
        held_out([(Odd({"size": 0, "task": Numbered("1")}.get), 1.0)], "test", 4)


def test_held_out_tasks_of_one_id_are_numbered_so_that_both_are_played():
    pair = [(TaskList(name, test=[Numbered("same")]), 1.0) for name in ("a", "b")]
    assert held_out(pair, "test", 2) == [("a", Numbered("same"), 0), ("b", Numbered("same"), 1)]


def test_a_task_beyond_the_split_is_refused_and_a_far_one_is_made_alone():
    made = []
    endless = Odd(lambda what: made.append(what) if what == "size" else Numbered("far"))
    assert nth_held_out([(endless, 1.0)], "test", 10**9) == ("odd", Numbered("far"), 0)
    assert made == ["size"]
    with pytest.raises(ConfigError, match=r"there is no task 1 .*take a number below 1"):
        nth_held_out([(FINE, 1.0)], "test", 1)
    with pytest.raises(ConfigError, match="no split 'tset'"):
        nth_held_out([(FINE, 1.0)], "tset", 0)


def test_an_error_shows_control_characters_instead_of_obeying_them():
    error = WorkflowError("it said \x1b[2J\x07\u202eabc", where={"task": "a\r\nb\x00"}, fix="\x9b31m")
    for text in (str(error), explained(error)):
        assert not any((ord(char) < 32 and char != "\n") or char in "\x7f\x9b\u202e" for char in text)
        assert "\\x1b[2J\\x07\\u202eabc" in text
    assert visible("naïve 漢字 🙂\n\tend") == "naïve 漢字 🙂\n\tend"
    assert visible("\ud800").encode() == b"\\ud800"
