"""Tasksets of the package verifiers whose answer is one text by one role."""

from __future__ import annotations

import asyncio
import sys
import textwrap

import pytest

from motet.errors import ConfigError, TaskError
from motet.tasks.base import make_task_set
from motet.testing.check_task import check_task

TASKSET = """
import verifiers.v1 as vf


class Data(vf.TaskData):
    answer: str


class Task(vf.Task[Data]):
    {extra}

    @vf.reward(weight={weight})
    async def right(self, task, trace{needs}) -> float:
        return float(trace.root_reply.strip() == task.answer)


class Config(vf.TasksetConfig):
    count: int = 6


class Sums(vf.Taskset[Task, Config]):
    def load(self):
        for n in range(self.config.count):
            yield Task(Data(prompt={prompt}, answer=str(n + n)), self.config.task)


__all__ = ["Sums"]
"""


def test_without_the_package_the_error_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "verifiers.v1", None)
    monkeypatch.setitem(sys.modules, "verifiers", None)
    with pytest.raises(ConfigError, match=r"verifiers is not installed.*motet\[verifiers\]"):
        make_task_set("verifiers:sums")


class TestWithThePackage:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("verifiers.v1")

    @pytest.fixture
    def written(self, tmp_path, monkeypatch, request):
        monkeypatch.syspath_prepend(str(tmp_path))

        def write(name: str, **parts: str) -> str:
            given = {"extra": "pass", "weight": "1.0", "needs": "", "prompt": 'f"{n} + {n}?"', **parts}
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(TASKSET.format(**given)))
            return f"verifiers:{name}"

        return write

    def test_its_tasks_are_parted_and_scored_by_its_own_rewards(self, written) -> None:
        tasks = make_task_set(written("sums_plain"), test_rows=2, validation_rows=1, count=5)
        assert [(split, tasks.size(split)) for split in tasks.splits] == [("train", 2), ("validation", 1), ("test", 2)]
        task = tasks.task("train", 1)
        assert (task.question, task.check("8"), task.check("9")) == ("4 + 4?", 1.0, 0.0)
        assert check_task(tasks)[-1] == "rewards"

    def test_a_score_works_inside_a_running_loop(self, written) -> None:
        task = make_task_set(written("sums_loop"), test_rows=2).task("test", 1)

        async def inside() -> float:
            return task.check("2")

        assert asyncio.run(inside()) == 1.0

    @pytest.mark.parametrize(
        ("name", "parts", "what"),
        [
            ("sums_box", {"extra": "NEEDS_CONTAINER = True"}, "container"),
            ("sums_runtime", {"needs": ", runtime"}, "running machine"),
            ("sums_open", {"prompt": "None"}, "no prompt"),
        ],
    )
    def test_what_needs_more_than_one_text_is_refused(self, written, name, parts, what) -> None:
        with pytest.raises(ConfigError, match=what):
            make_task_set(written(name, **parts))

    def test_a_reward_above_one_is_an_error(self, written) -> None:
        task = make_task_set(written("sums_heavy", weight="3.0"), test_rows=1).task("test", 0)
        with pytest.raises(TaskError, match=r"reward is 3\.0, outside \[0, 1\]"):
            task.check("0")

    def test_an_unknown_taskset_and_setting_are_refused(self, written) -> None:
        with pytest.raises(ConfigError, match="cannot load 'no_such_taskset'"):
            make_task_set("verifiers:no_such_taskset")
        with pytest.raises(ConfigError, match="colour"):
            make_task_set(written("sums_setting"), colour="red")
