"""Tool and planner: what a program prints is read and never run here; the planner sees all of it."""

from __future__ import annotations

import asyncio
import dataclasses
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from motet.errors import ConfigError, SandboxError, WorkflowError
from motet.sandbox import shared
from motet.tasks.sokoban import SokobanTask
from motet.tasks.sudoku import SudokuTask
from motet.testing.check_workflow import check_workflow
from motet.types import Prompt
from motet.workflows import tool_planner
from motet.workflows.programs import Output
from motet.workflows.tool_planner import ToolPlanner, actions_in
from motet.workflows.tool_planner_prompts import PROMPTS, chat_planner

LINE = SokobanTask("line", 6, (), (5,), 0, (1,), 4, 8)
SOLVED = (1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1)
TWO_BLANK = SudokuTask("two", 4, (0, 0, *SOLVED[2:]), SOLVED, 4)


def block(program: str) -> str:
    return f"I search.\n```python\n{program}\n```\nDone."


def prints(line: str) -> str:
    return block(f"print({line!r})")


@pytest.fixture
def no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program prints its own text between the first quotes: the sandbox has tests of its own."""

    def run(program: str | None, **_: Any) -> Output:
        if program is None:
            return Output("none")
        if "fail" in program:
            return Output("error", "", "ValueError: fail")
        return Output("ok", program.split("'", 1)[1].rsplit("'", 1)[0] if "'" in program else "")

    monkeypatch.setattr(tool_planner, "run_program", run)


GOOD = prints('**Actions List**: ["R", "R", "R", "R"]')


@pytest.mark.parametrize(
    ("output", "actions"),
    [
        ('**Actions List**: ["U", "R"]', '#### ["U", "R"]'),
        ('**Actions List:** ["U"]', '#### ["U"]'),
        ('actions list: ["U"]\n', '#### ["U"]'),
        ('searching [3]\n**Actions List**: ["U"] (1 move) []', '#### ["U"]'),
        ('**Actions List**: ["L"]\n**Actions List**: ["U"]', '#### ["U"]'),
        ("**Actions List**: [[0, 1, 2], [3, 3, 1]]", "#### [[0, 1, 2], [3, 3, 1]]"),
        ("**Actions List**:\n[[0, 1, 2],\n [3, 3, 1]]", "#### [[0, 1, 2],\n [3, 3, 1]]"),
        ("**Actions List**: None", ""),
        ('["U"]', ""),
        ("", ""),
    ],
)
def test_case_13_the_list_after_the_last_mark_counts(output: str, actions: str) -> None:
    assert actions_in(output) == actions


@pytest.mark.parametrize("task", [LINE, TWO_BLANK])
def test_case_14_nothing_that_a_program_prints_is_run(task: Any, tmp_path, no_sandbox) -> None:
    target = tmp_path / "x"
    line = f'**Actions List**: [__import__("os").system("touch {target}")]'
    reward = ToolPlanner().tried(task.start(), f"```python\nprint('{line}')\n```")
    assert "__import__" in reward.notes["actions"]
    moves = task.start().read(reward.notes["actions"])
    assert moves.steps == () and moves.failure
    assert (reward.team, reward.local, reward.parts["listed"]) == (0.0, 0.1, 0.0)
    assert not target.exists()


@pytest.mark.parametrize(
    ("text", "team", "local"),
    [
        (GOOD, 1.0, 1.0),
        (prints('**Actions List**: ["R", "R"]'), 0.45, 0.2 + 0.8 * 0.625),
        (prints('**Actions List**: ["U"]'), 0.0, 0.2),
        (prints("nothing found"), 0.0, 0.1),
        (block("fail"), 0.0, 0.0),
        ('**Actions List**: ["R", "R", "R", "R"]', 0.0, 0.0),  # no program
        ("", 0.0, 0.0),
    ],
)
def test_the_tool_is_paid_for_running_listing_and_moving_well(no_sandbox, text: str, team: float, local: float) -> None:
    reward = ToolPlanner().tried(LINE.start(), text)
    assert (reward.team, reward.local) == (pytest.approx(team), pytest.approx(local))


class FakeCast:
    """Answers from one list per role, and keeps the chat prompts."""

    def __init__(self, **answers: list[str]) -> None:
        self._answers = {role: iter(texts) for role, texts in answers.items()}
        self.prompts: list[str] = []

    def __getattr__(self, role: str) -> Any:
        async def act(prompt: Prompt, score: Any) -> Any:
            self.prompts.append("\n".join(str(m.content) for m in PROMPTS[prompt.name]["chat"](prompt.values)))
            text = next(self._answers[role])
            return SimpleNamespace(text=text, notes=score(text).notes)

        return SimpleNamespace(act=act)


def test_case_03_the_planner_sees_program_output_and_actions_of_the_same_turn(no_sandbox) -> None:
    cast = FakeCast(
        tool=[prints('**Actions List**: ["R", "R"]'), block("fail")], planner=["#### ['R']", "#### ['R', 'R', 'R']"]
    )
    outcome = asyncio.run(ToolPlanner().run(LINE, cast))
    write, decide, again, last = cast.prompts
    assert "Write one Python program" in write and "**Actions List**: and behind it a JSON list of moves" in write
    assert 'print(\'**Actions List**: ["R", "R"]\')' in decide
    assert 'Its output:\n**Actions List**: ["R", "R"]' in decide
    assert "The tool proposes to enter: (0, 1), (0, 2)." in decide
    assert "You are at (0, 1)." in again and "Moves left: 7." in again  # the planner moved, not the tool
    assert "It ended with an error. ValueError: fail" in last and "The tool proposes to enter: nothing." in last
    assert outcome.success and outcome.metrics == {"moves": 4}


def test_a_long_program_and_a_long_output_are_shortened(no_sandbox) -> None:
    notes = {"program": "x = 1\n" * 5000, "status": "ok", "stdout": "y" * 50_000, "error": "", "actions": ""}
    start = LINE.start()
    values = {"position": start, "part": "move", "view": "full", "plan": start.read(""), "tool": notes}
    text = str(chat_planner(values)[1].content)
    assert len(text) < 5000 and "characters left out" in text


def test_without_a_program_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(program: str | None, **_: Any) -> Output:
        assert program is None
        return Output("none")

    monkeypatch.setattr(tool_planner, "run_program", refuse)
    for text in ("", "x * n2 + n3", "print(1)", "```python\nprint(1)", "```text\nno\n```"):
        assert ToolPlanner().tried(LINE.start(), text).notes["program"] is None


def test_a_fault_of_the_sandbox_is_an_error_and_no_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(program: str | None, **_: Any) -> Output:
        raise SandboxError("no cell")

    monkeypatch.setattr(tool_planner, "run_program", broken)
    with pytest.raises(SandboxError):
        ToolPlanner().tried(LINE.start(), GOOD)


def test_a_compact_model_is_refused_as_writer_of_python_by_name() -> None:
    values = {"position": LINE.start(), "part": "plan", "view": "full", "language": "python"}
    with pytest.raises(WorkflowError, match=r"writes no Python.*role=tool.*language: words"):
        PROMPTS["work_out"]["compact"](values)
    assert PROMPTS["work_out"]["compact"](values | {"language": "words"}) == "g05 tool none n8 box c01 c00"


@pytest.mark.parametrize("settings", [{"language": "rust"}, {"program_s": 0.0}, {"programs": 1.0}])
def test_settings_out_of_range_are_refused(settings: dict) -> None:
    with pytest.raises(ConfigError):
        ToolPlanner(**settings)


class InChat(ToolPlanner):
    """As for a cast of chat models alone."""

    prompts: ClassVar[Any] = {name: {"chat": dialects["chat"]} for name, dialects in PROMPTS.items()}


def test_with_programs_it_passes_the_check_that_is_shipped_for_ones_own(no_sandbox) -> None:
    texts = (GOOD, prints('**Actions List**: ["R"]'), block("fail"), '#### ["R", "R"]')
    passed = check_workflow(InChat(), dataclasses.replace(LINE, max_turns=2), texts=texts)
    assert passed == ["fits", "dialects", "plays", "worth", "pure", "replay", "evaluation"]


SEARCH = """
from collections import deque
queue, seen = deque([((0, 0), (0, 1), [])]), set()
ways = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}
while queue:
    player, box, moves = queue.popleft()
    if box == (0, 5):
        print("**Actions List**:", moves)
        break
    for name, (r, c) in ways.items():
        here, there = (player[0] + r, player[1] + c), box
        if here == box:
            there = (box[0] + r, box[1] + c)
        if all(0 <= x < 6 for x in here + there) and (here, there) not in seen:
            seen.add((here, there))
            queue.append((here, there, moves + [name]))
"""


def test_a_real_search_in_the_sandbox_solves_the_puzzle() -> None:
    try:
        shared().ready()
    except SandboxError as error:
        pytest.skip(f"no sandbox here: {error}")
    reward = ToolPlanner().tried(LINE.start(), block(SEARCH))
    assert (reward.team, reward.local) == (1.0, pytest.approx(1.0))
    assert reward.notes["stdout"] == "**Actions List**: ['R', 'R', 'R', 'R']\n"
