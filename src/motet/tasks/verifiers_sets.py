"""`verifiers:<id>`: a taskset of the package verifiers (0.4 or later) whose answers are one text by one role."""

from __future__ import annotations

import asyncio
import inspect
import threading
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from motet.errors import ConfigError, TaskError
from motet.tasks.rows import extra

_HOMES: dict[tuple[str, str], dict[int, Any]] = {}
"""(taskset, settings) -> the foreign tasks by index: a task of ours is a value and holds none."""


@dataclass(frozen=True, slots=True)
class VerifiersTask:
    """One task of a taskset; `source`, `settings` and `index` find the foreign task that scores it."""

    id: str
    question: str
    source: str
    settings: str
    index: int

    @property
    def answer_form(self) -> str:
        """What form counts is known to the taskset alone; its question says so where it matters."""
        return "Answer in the form that the question asks for."

    def check(self, text: str) -> float:
        """The weighted rewards of the foreign task for a conversation that ends with `text`, which must lie in [0, 1].

        Its scoring code runs in this process: it is as trusted as the package it comes from.
        """
        foreign = _HOMES[self.source, self.settings][self.index]
        worth = _in_own_loop(_score(foreign, text))
        if not 0 <= worth <= 1:
            fix = "give its rewards weights that sum to 1, or another taskset"
            raise TaskError(f"the reward is {worth}, outside [0, 1]", where={"task": self.id}, fix=fix)
        return worth


async def _score(foreign: Any, text: str) -> float:
    vf = extra("verifiers.v1", "verifiers", "verifiers")
    graph = extra("verifiers.v1.graph", "verifiers", "verifiers")
    said = vf.AssistantMessage(content=text)
    spoken = [*_messages(vf, foreign.data), said]
    nodes = [
        graph.MessageNode(message=message, parent=place - 1 if place else None, sampled=message is said)
        for place, message in enumerate(spoken)
    ]
    trace = vf.Trace(
        task=vf.TraceTask(type=type(foreign).__name__, data=foreign.data, key=foreign.key, hash=foreign.hash),
        agent=vf.AgentInfo(config=vf.AgentConfig()),
        nodes=nodes,
        root_reply=text,
        is_completed=True,
        ok=True,
    )
    await foreign.score(trace)
    return float(trace.reward)


def _messages(vf: Any, data: Any) -> list[Any]:
    head = [vf.SystemMessage(content=data.system_prompt)] if data.system_prompt else []
    return head + ([vf.UserMessage(content=data.prompt)] if isinstance(data.prompt, str) else list(data.prompt))


def _in_own_loop(coroutine: Any) -> float:
    """Run it whether or not this thread has a running loop."""
    out: list[Any] = []

    def run() -> None:
        try:
            out.append(asyncio.run(coroutine))
        except BaseException as error:  # noqa: BLE001  raised again below, in the thread that asked
            out.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(out[0], BaseException):
        raise out[0]
    return float(out[0])


class Verifiers:
    """The taskset `taskset` as a task set. `config` holds its own settings.

    `num_tasks` tasks are read from its start (0: all); the first `test_rows` make the split test, the next
    `validation_rows` validation, the rest train. A question that came before is left out.

    Refused with `ConfigError`: an environment of several agents, tools, a container, a score that needs a running
    machine, a task without a prompt, settings it does not have, or verifiers missing.
    """

    def __init__(
        self,
        taskset: str,
        *,
        test_rows: int = 100,
        validation_rows: int = 100,
        num_tasks: int = 0,
        name: str = "",
        **config: Any,
    ) -> None:
        self.name = name or f"verifiers:{taskset}"
        self._where: dict[str, object] = {"task_set": self.name}
        vf = extra("verifiers.v1", "verifiers", "verifiers")
        loaders = extra("verifiers.v1.utils.loaders", "verifiers", "verifiers")
        try:
            made = loaders.taskset_config_type(taskset).model_validate({"id": taskset, **config})
            foreign = vf.load_taskset(made)
            env = loaders.environment_class(taskset)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            fix = "install the package of the taskset, and see its settings"
            raise ConfigError(f"cannot load {taskset!r}: {error}", where=self._where, fix=fix) from error
        if env is not vf.SingleAgentEnv:
            raise self._unfit(f"its environment {env.__name__} has a course of its own, with more roles than one")
        if not foreign.bounded and not num_tasks:
            raise ConfigError("'num_tasks' is 0 and the taskset has no end", where=self._where, fix="set num_tasks")
        key = (taskset, made.model_dump_json())
        tasks = list(islice(iter(foreign), num_tasks or None))
        if tasks:
            self._check(type(foreign), tasks[0])
        _HOMES[key] = dict(enumerate(tasks))
        self._rows = _parts(self._ours(key, tasks), test_rows, validation_rows)
        self.splits = tuple(split for split in ("train", "validation", "test") if self._rows[split])
        if not self.splits:
            raise ConfigError("it has no task", where=self._where, fix="see its settings")

    def _check(self, kind: Any, task: Any) -> None:
        if task.NEEDS_CONTAINER or task.data.image:
            raise self._unfit("its tasks run in a container")
        if type(task).toolsets(task.config) or kind.toolsets(kind):
            raise self._unfit("its tasks give the model tools")
        if task.data.prompt is None:
            raise self._unfit("its tasks have no prompt")
        for score in (*task.hooks("reward"), *(judge.score for judge in task.plugged_judges())):
            needed = inspect.signature(score).parameters.get("runtime")
            if needed is not None and needed.default is inspect.Parameter.empty:
                raise self._unfit(f"its reward {score.__name__} looks into a running machine")
        if not task.hooks("reward") and not task.plugged_judges():
            raise self._unfit("it has no reward")

    def _unfit(self, why: str) -> ConfigError:
        return ConfigError(why, where=self._where, fix="choose a taskset whose answer is one text by one role")

    def _ours(self, key: tuple[str, str], tasks: list[Any]) -> list[VerifiersTask]:
        seen: set[str] = set()
        ours = []
        for index, task in enumerate(tasks):
            question = task.data.prompt_text
            if question not in seen:
                seen.add(question)
                ours.append(VerifiersTask(f"{key[0]}/{task.data.id or index}", question, *key, index))
        ids = [task.id for task in ours]
        return [replace(task, id=f"{task.id}#{task.index}") if ids.count(task.id) > 1 else task for task in ours]

    def size(self, split: str) -> int | None:
        return len(self._rows[split])

    def task(self, split: str, index: int) -> VerifiersTask:
        where = {**self._where, "split": split}
        if split not in self.splits:
            raise TaskError(f"no split {split!r}", where=where, fix=f"use one of {', '.join(self.splits)}")
        if not 0 <= index < len(self._rows[split]):
            raise TaskError(f"no task {index}", where=where, fix=f"use an index below {len(self._rows[split])}")
        return self._rows[split][index]


def _parts(tasks: list[VerifiersTask], test_rows: int, validation_rows: int) -> dict[str, list[VerifiersTask]]:
    cut = test_rows + validation_rows
    return {"test": tasks[:test_rows], "validation": tasks[test_rows:cut], "train": tasks[cut:]}
