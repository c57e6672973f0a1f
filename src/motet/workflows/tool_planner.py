"""Tool and planner: one writes a program that works out moves; the other sees what it did, and moves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Literal

from motet.errors import ConfigError
from motet.sandbox import Limits
from motet.tasks.games import Game, Position
from motet.tasks.plain_lists import outer_lists
from motet.types import Outcome, Prompt, Reward
from motet.workflows.base import Workflow
from motet.workflows.programs import find_program, run_program
from motet.workflows.tool_planner_prompts import PROMPTS

_MARK = re.compile(r"\**[ ]*actions list[ ]*\**[ ]*:[ ]*\**", re.IGNORECASE)


class ToolPlanner(Workflow):
    """Any game. The next turn starts where the planner stands; the tool moves nothing.

    `language` "python": the tool's answer holds a Python program in a fenced block. It runs in the sandbox, and the
    list after its last `**Actions List**:` is what it proposes. Models that speak the compact dialect write no
    Python: they are refused by name. "words": the tool's answer is the proposal itself, nothing is run.
    `program_s`: seconds that a program may take.
    """

    roles: ClassVar[Mapping[str, int]] = {"tool": 1, "planner": 1}
    prompts: ClassVar[Mapping[str, Any]] = PROMPTS
    needs = (Game,)
    variants: ClassVar[Mapping[str, Any]] = {"planner_alone": {"silent": ["tool"], "role": "planner"}}
    language: Literal["python", "words"] = "python"
    program_s: float = 10.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        where: dict[str, object] = {"workflow": "tool_planner"}
        if self.language not in ("python", "words"):
            raise ConfigError(f"language is {self.language!r}", where=where, fix="set language to python or words")
        if not 0.0 < self.program_s <= 600.0:
            raise ConfigError(f"program_s is {self.program_s!r}", where=where, fix="set program_s between 0 and 600")
        vars(self)["runs_programs"] = self.language == "python"

    async def run(self, task: Game, cast: Any) -> Outcome:
        position = task.start()
        for _ in range(task.max_turns):
            values = {"position": position, "part": "plan", "view": "full", "language": self.language}
            tool = await cast.tool.act(Prompt("work_out", **values), score=partial(self.tried, position))
            plan = position.read(tool.notes["actions"])
            values |= {"part": "move", "plan": plan, "tool": tool.notes}
            call = await cast.planner.act(Prompt("decide", **values), score=partial(position.judge, plan=plan))
            position = position.after(position.read(call.text))
            if position.is_over:
                break
        return Outcome(position.at_goal, position.progress, {"moves": position.num_moves})

    def max_calls(self, task: Game) -> int:
        return 2 * task.max_turns

    def tried(self, position: Position, text: str) -> Reward:
        """The tool: team = the worth of its actions as a proposal; local = 0.1 ran + 0.1 listed + 0.8 their form, with
        `language` "words" their form alone.

        ran: the program ended by itself without an error. listed: it printed a list that holds moves. Notes: `program`,
        `status`, `stdout`, `error`, and `actions`, the text that the game reads.
        """
        if self.language == "words":
            judged = position.judge(text, part="plan")
            return Reward(judged.team, judged.local, {"actions": text}, judged.parts)
        program = find_program(text) if "```" in text else None
        output = run_program(program, limits=Limits(wall_s=self.program_s, cpu_s=self.program_s))
        actions = actions_in(output.stdout)
        judged = position.judge(actions, part="plan")
        listed = bool(position.read(actions).steps)
        parts = {**judged.parts, "ran": float(output.ok), "listed": float(listed)}
        local = 0.1 * output.ok + 0.1 * listed + 0.8 * (judged.local or 0.0)
        return Reward(judged.team, local, {"program": program, **output.as_notes(), "actions": actions}, parts)


def actions_in(output: str) -> str:
    """The list after the last `**Actions List**:` of a program's output, behind `####` as an answer has it; "" where
    there is none. Stars and case do not matter. Nothing is evaluated.

    >>> actions_in("try 1\\n**Actions List**: ['U']\\n**Actions List**: ['R', 'R'] done")
    "#### ['R', 'R']"
    >>> actions_in("['U']")
    ''
    """
    marks = list(_MARK.finditer(output))
    lists = outer_lists(output[marks[-1].end() :]) if marks else []
    return f"#### {lists[0]}" if lists else ""
