"""Reasoner and tool: one reasons, the other writes a program, until both come to the same answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from motet.tasks.answering import answer_form, assess
from motet.tasks.base import Answerable, Programmable
from motet.types import Outcome, Prompt
from motet.workflows.answering import check_count, outcome, settle_by_fate
from motet.workflows.base import Workflow
from motet.workflows.fitting import who_plays
from motet.workflows.programs import Output, find_program, run_program
from motet.workflows.reasoner_tool_prompts import PROMPTS

RUNS, PARSES, RIGHT = 0.1, 0.1, 0.8
"""The parts of the tool's own job."""
KEPT_OUTPUT = 2_000


class ReasonerTool(Workflow):
    """Both speak side by side; from the second turn on each has read all that both said and what the programs printed.

    It ends when the two answers agree, or after `max_turns`. The reasoner's last answer counts. The programs run in the
    sandbox of this process.
    """

    roles: ClassVar[Mapping[str, int]] = {"reasoner": 1, "tool": 1}
    prompts: ClassVar[Mapping[str, Any]] = PROMPTS
    needs = (Answerable,)
    runs_programs = True
    max_turns: int = 4

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        check_count("reasoner_tool", "max_turns", self.max_turns, 1)

    def fits(self, task: Any) -> str | None:
        if isinstance(task, Programmable):
            what = f"{type(task).__name__} asks for the program itself"
            return f"ReasonerTool plays tasks whose answer a program can print; {what}{who_plays(task)}"
        return super().fits(task)

    async def run(self, task: Any, cast: Any) -> Outcome:
        turns: list[tuple[Any, Any, str]] = []
        for _ in range(self.max_turns):
            reasoner, tool = await cast.gather(
                cast.reasoner.act(Prompt("reason", task=task, turns=turns), read=partial(assess, task)),
                cast.tool.act(Prompt("program", task=task, turns=turns), read=partial(assess_program, task)),
            )
            turns = [*turns, (reasoner, tool, tool.notes["shown"])]
            if reasoner.notes["answer"] is not None and reasoner.notes["answer"] == tool.notes["answer"]:
                break
        final = turns[-1][0].notes["worth"]
        for reasoner, tool, _ in turns:
            settle_by_fate(reasoner, final)
            settle_by_fate(tool, final, tool_job)
        agree = turns[-1][0].notes["answer"] == turns[-1][1].notes["answer"] is not None
        return outcome(final, turns=len(turns), agreed=float(agree), tool_right=turns[-1][1].notes["worth"])

    def max_calls(self, task: Any) -> int:
        return 2 * self.max_turns


def assess_program(task: Any, text: str) -> dict[str, Any]:
    """Run the program of `text`; what it printed last is the tool's answer. A fault of the sandbox raises.

    `runs` is 1 where it ended well, `parses` where its last line is an answer, `worth` that of the answer, else 0.
    """
    return assess_output(task, run_program(find_program(text)))


def assess_output(task: Any, output: Output) -> dict[str, Any]:
    """The notes of one run of a tool's program.

    >>> from motet.tasks.jsonl import Question
    >>> assess_output(Question("q", "2 + 2?", "4"), Output("ok", "so it is\\n4\\n"))
    {'shown': 'so it is\\n4', 'answer': '4', 'runs': 1.0, 'parses': 1.0, 'worth': 1.0}
    >>> assess_output(Question("q", "2 + 2?", "4"), Output("error", "4", "ZeroDivisionError: x"))["worth"]
    0.0
    """
    lines = output.stdout.strip().splitlines() if output.ok else []
    found = assess(task, dressed(task, lines[-1])) if lines and len(lines[-1]) <= KEPT_OUTPUT else None
    answer = found["answer"] if found else None
    return {
        "shown": output.shown(),
        "answer": answer,
        "runs": float(output.ok),
        "parses": float(answer is not None),
        "worth": found["worth"] if found and answer is not None else 0.0,
    }


def dressed(task: Any, line: str) -> str:
    """A printed line as an answer, in the form that the task asks for.

    >>> from motet.tasks.jsonl import Question
    >>> dressed(Question("q", "2 + 2?", "4"), "4")
    '#### 4'
    """
    form, line = answer_form(task), line.strip()
    if r"\boxed" in form:
        return line if r"\boxed" in line else rf"\boxed{{{line}}}"
    return next((f"{mark} {line}" for mark in ("####", "The answer is") if mark in form), line)


def tool_job(notes: Mapping[str, Any]) -> float:
    """The tool's own job: 0.1 * runs + 0.1 * parses + 0.8 * worth.

    >>> tool_job({"runs": 1.0, "parses": 1.0, "worth": 0.0})
    0.2
    """
    return RUNS * float(notes["runs"]) + PARSES * float(notes["parses"]) + RIGHT * float(notes["worth"])
