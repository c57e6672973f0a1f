"""Coder and tester: one writes a program, the other a test; where they disagree, both hear of it and try again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from motet.tasks.code_answers import program_in
from motet.tasks.code_cases import Case, is_new, read_case, try_case
from motet.tasks.code_running import Result, atried
from motet.tasks.code_tasks import CodeTask
from motet.types import Outcome, Prompt, Reward
from motet.workflows.answering import check_count
from motet.workflows.base import Workflow
from motet.workflows.coder_tester_prompts import PROMPTS


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A test that the coder's program did not pass: the case, and how it went."""

    case: Case
    status: str
    got: str


class CoderTester(Workflow):
    """Each turn coder and tester speak side by side, on the same state: the last program, the last test, and the
    mismatches so far. It ends when the program passes the test of its turn, or after `max_turns`; the last program
    counts, and only the golden tests say whether it is right. At most `max_shown` mismatches are shown, the last ones.
    """

    roles: ClassVar[Mapping[str, int]] = {"coder": 1, "tester": 1}
    prompts: ClassVar[Mapping[str, Any]] = PROMPTS
    needs = (CodeTask,)
    runs_programs: ClassVar[bool] = True
    max_turns: int = 3
    max_shown: int = 3

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        check_count("coder_tester", "max_turns", self.max_turns, 1)
        check_count("coder_tester", "max_shown", self.max_shown, 1)

    def fits(self, task: Any) -> str | None:
        reason = super().fits(task)
        if reason is None and task.kind == "check" and not task.function:
            return "CoderTester tests a function by its name; this task names none. Play it with single or voting"
        return reason

    async def run(self, task: CodeTask, cast: Any) -> Outcome:
        codes: list[Any] = []
        tests: list[Any] = []
        mismatches: tuple[Mismatch, ...] = ()
        agreed = False
        while len(codes) < self.max_turns and not agreed:
            values = {"task": task, "codes": tuple(codes), "tests": tuple(tests)}
            values["mismatches"] = mismatches[-self.max_shown :]
            code, test = await cast.gather(
                cast.coder.act(Prompt("code", **values), read=partial(read_code, task), score=code_reward),
                cast.tester.act(Prompt("test", **values), read=partial(read_test, task)),
            )
            codes.append(code)
            tests.append(test)
            met = await cast.effect(f"meet {len(codes)}", partial(meet, task, code.notes, test.notes))
            agreed = met["status"] == "passed"
            if test.notes["case"] is not None and not agreed:
                mismatches = (*mismatches, Mismatch(tuple(test.notes["case"]), met["status"], met["got"]))
        truth = truth_of(task, codes)
        for code, test in zip(codes, tests):
            await test.settle_off_loop(partial(judged_test, task, code.notes, truth))
        share = codes[-1].notes["share"]
        return Outcome(share == 1.0, share, {"turns": len(codes), "agreed": float(agreed)})

    def max_calls(self, task: CodeTask) -> int:
        return 2 * self.max_turns


async def read_code(task: CodeTask, text: str) -> dict[str, Any]:
    """The program of an answer and how it does on the golden tests, as notes."""
    program = program_in(task, text)
    tried = await atried(task, program)
    return {"program": program, "builds": tried.builds, "runs": tried.runs, "share": tried.share}


def code_reward(notes: Mapping[str, Any]) -> Reward:
    """team = share of golden tests passed; local = 0.1 builds + 0.1 runs + 0.8 share.

    >>> code_reward({"builds": 1.0, "runs": 0.5, "share": 0.5}).local
    0.55
    """
    parts = {name: float(notes[name]) for name in ("builds", "runs", "share")}
    local = 0.1 * parts["builds"] + 0.1 * parts["runs"] + 0.8 * parts["share"]
    return Reward(team=parts["share"], local=min(1.0, round(local, 12)), parts=parts)


def read_test(task: CodeTask, text: str) -> dict[str, Any]:
    """The test case of an answer, or None, as notes."""
    case = read_case(task, text)
    return {"case": None if case is None else list(case)}


async def meet(task: CodeTask, code: Mapping[str, Any], test: Mapping[str, Any]) -> dict[str, str]:
    """How the program of this turn does on the test of this turn."""
    case = test["case"]
    result = await try_case(task, code["program"], None if case is None else (case[0], case[1]))
    return {"status": result.status, "got": result.got}


def truth_of(task: CodeTask, codes: list[Any]) -> str | None:
    """A program whose word on a test is taken for the truth: the task's reference, else one that passed all golden
    tests in this episode, whoever of the candidates wrote it; None where there is none.
    """
    if task.reference:
        return task.reference
    every = (candidate.reward.notes for code in codes for candidate in code.record.candidates)
    return next((notes["program"] for notes in every if notes["share"] == 1.0), None)


async def judged_test(task: CodeTask, code: Mapping[str, Any], truth: str | None, candidate: Any) -> Reward:
    """What a test is worth, once the coder has spoken and the episode is over. See `docs/rewards.md`."""
    case = candidate.reward.notes["case"]
    pair = None if case is None else (case[0], case[1])
    is_case = pair is not None and is_new(task, pair)
    if truth is None:
        return reward_of_test(is_case, None, False, code["share"])
    told = await try_case(task, truth, pair if is_case else None)
    mine = await try_case(task, code["program"], pair) if told.passed else Result("none")
    return reward_of_test(
        told.status in ("passed", "wrong"), told.passed, told.passed and not mine.passed, code["share"]
    )


def reward_of_test(valid: bool, right: bool | None, finds: bool, share: float) -> Reward:
    """valid: readable, on an input that the problem does not show, and one that the true program takes. right: the
    value is the true one. finds: right, and the coder's program does not pass it. `share`: golden tests that it passes.

        local   0.2 valid + 0.8 right
        team    1 where it finds a bug, `share` where it is right and finds none, 0 where it is not right

    Where nobody knows the truth (right is None): local = 0.2 valid, team = share, alike for all candidates.

    >>> [reward_of_test(True, right, finds, 0.5).team for right, finds in ((True, True), (True, False), (False, False))]
    [1.0, 0.5, 0.0]
    """
    if right is None:
        return Reward(team=share, local=0.2 * valid, parts={"valid": float(valid)})
    team = 1.0 if finds else share if right else 0.0
    parts = {"valid": float(valid), "right": float(right), "finds": float(finds)}
    return Reward(team=team, local=0.2 * valid + 0.8 * right, parts=parts)
