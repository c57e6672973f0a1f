"""What tool and planner are told, in both dialects, of whatever game they play.

Values: `position`, `part`, `view` and `language`; for the planner also `plan` (the tool's moves) and `tool` (the notes
of its call: program and output).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from motet.errors import WorkflowError
from motet.types import Message
from motet.workflows import planner_executor_prompts as plain
from motet.workflows.programs import Output, shorten

PROGRAM_SHOWN, OUTPUT_SHOWN = 2000, 1000
"""The most characters of a program and of its output that the planner sees."""

WRITE = (
    "You are the tool. Write one Python program, with nothing but the standard library, that works out the next moves "
    "{shown.aim}, from the position above, by a search for example. It gets no input, so put the position into it. "
    "It must print one line, **Actions List**: and behind it {shown.list_form}\nAnswer with the program in one block:"
    "\n```python\n...\n```"
)
NAME = "You are the tool. Work out the next moves {shown.aim}; the planner is shown them.\n{shown.answer_form}"
DECIDE = (
    "You are the planner. Check what the tool proposes against {shown.board}. Take it over where it is right, do "
    "better where it is not, and make the next moves {shown.aim}.\n{shown.answer_form}"
)


def compact(role: str, values: Mapping[str, Any]) -> str:
    """As for planner and executor: `STABLE role NOW [PLAN] HERE`. Raises `WorkflowError` where Python is asked for."""
    if values["language"] == "python" and role == "tool":
        raise WorkflowError(
            "a model of the compact dialect writes no Python program",
            where={"workflow": "tool_planner", "role": role},
            fix="set language: words (it names its moves itself), or give the role a model with a chat template",
        )
    return plain.compact(role, values)


def chat_tool(values: Mapping[str, Any]) -> list[Message]:
    """The rules; then the board and what the tool has to write."""
    shown = plain.shown_in("chat", values)
    ask = WRITE if values["language"] == "python" else NAME
    return [Message("system", shown.stable), Message("user", f"{shown.now}\n\n{ask.format(shown=shown)}")]


def chat_planner(values: Mapping[str, Any]) -> list[Message]:
    """The rules; then the board, what the tool wrote, what that printed and the moves it stands for."""
    shown = plain.shown_in("chat", values)
    lines = [shown.now, "", *_said_by_tool(values["tool"])]
    lines += [f"The tool proposes {values['position'].tell(values['plan'], 'chat')}.", "", DECIDE.format(shown=shown)]
    return [Message("system", shown.stable), Message("user", "\n".join(lines))]


def _said_by_tool(notes: Mapping[str, Any]) -> list[str]:
    if "status" not in notes:
        return []
    output = Output(notes["status"], notes["stdout"], notes["error"])
    program = notes["program"]
    wrote = ["The tool wrote no program."] if program is None else [
        "The tool wrote this program:", f"```python\n{shorten(program.rstrip(), PROGRAM_SHOWN)}\n```",
        "Its output:", output.shown(OUTPUT_SHOWN),
    ]  # fmt: skip
    return wrote


PROMPTS = {
    "work_out": {"compact": lambda values: compact("tool", values), "chat": chat_tool},
    "decide": {"compact": lambda values: compact("planner", values), "chat": chat_planner},
}
