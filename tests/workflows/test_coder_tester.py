"""Coder and tester: what comes back, when it ends, who says what is right, and what a test is worth."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from motet.errors import ConfigError, SandboxError
from motet.sandbox import Limits, configure, shared
from motet.tasks.code_cases import is_new, read_case
from motet.tasks.code_tasks import CodeTask
from motet.tasks.mini_code import MiniCode
from motet.testing.check_workflow import check_workflow
from motet.workflows.base import make_workflow
from motet.workflows.coder_tester import CoderTester, code_reward, reward_of_test, truth_of

QUICK = Limits(wall_s=3, cpu_s=1, memory_mb=160, output_kb=64)
TESTS = (("[1]", "2"), ("[3]", "6"), ("[0]", "0"), ("[5]", "10"))
DOUBLE = CodeTask(
    "double", "Double x.", "call", TESTS, 2, "f",
    reference="def f(x):\n    return x * 2\n", words="n1 = n2 ; n3 = n6 ;",
)  # fmt: skip
ECHO = CodeTask("echo", "Echo a line.", "stdin", (("1\n", "1\n"), ("2\n", "2\n")), reference="print(input())")
TALK = "n1 = n2 ; n3 = n6 ;"


@pytest.fixture(autouse=True, scope="module")
def _sandbox() -> Iterator[None]:
    try:
        configure(limits=QUICK, parallel=2)
    except SandboxError as problem:
        pytest.skip(problem.what)
    yield
    configure()


def code(program: str) -> str:
    return f"Here it is.\n```python\n{program}\n```"


def case(given: str, wanted: str) -> str:
    return f"I think.\n**Test Input:**\n```\n{given}\n```\n**Test Output:**\n```\n{wanted}\n```"


def test_mismatches_come_back_to_both_and_it_ends_by_agreement(staged):
    played = staged(CoderTester(), DOUBLE, {"coder": ["x + n5", "x * n2"], "tester": ["n4 = n8", "n7 = n14"]})
    assert played.prompts["coder"] == [f"{TALK} coder ", f"{TALK} coder x + n5 tester n4 = n8 did n9 coder "]
    assert played.prompts["tester"] == [f"{TALK} tester ", f"{TALK} coder x + n5 tester n4 = n8 did n9 tester "]
    assert (played.outcome.success, played.outcome.team) == (True, 1.0)
    assert played.outcome.metrics == {"turns": 2, "agreed": 1.0}


@pytest.mark.parametrize(
    ("tester", "turns", "success"),
    [
        (["n4 = n9", "n4 = n9"], 1, False),  # agrees with a wrong program: it ends there, and nothing is solved
        (["n4 = n8", "n4 = n8"], 2, True),  # disagrees: the coder tries again
        (["no test", "no test"], 3, True),  # no test is no agreement: it goes on to the last turn
    ],
)
def test_the_testers_text_changes_the_outcome_both_ways(staged, tester, turns, success):
    played = staged(CoderTester(), DOUBLE, {"coder": ["x + n5", "x * n2"], "tester": tester})
    assert (played.outcome.success, played.outcome.metrics["turns"]) == (success, turns)


@pytest.mark.parametrize(("program", "success"), [("x * n2", True), ("x + n4", False)])
def test_the_coders_text_changes_the_outcome_both_ways(staged, program, success):
    played = staged(CoderTester(), DOUBLE, {"coder": ["x", program], "tester": ["n4 = n8"]})
    assert played.outcome.success is success and played.outcome.metrics["turns"] == 2


def test_it_ends_after_max_turns_and_the_last_program_counts(staged):
    said = {"coder": ["x * n2", "x + n3"], "tester": ["n4 = n9"]}
    played = staged(CoderTester(max_turns=2), DOUBLE, said)
    assert (played.outcome.success, played.outcome.team) == (False, 0.25)
    assert played.outcome.metrics == {"turns": 2, "agreed": 0.0}
    assert CoderTester(max_turns=2).max_calls(DOUBLE) == len(played.calls) == 4
    with pytest.raises(ConfigError, match="max_turns is 0"):
        make_workflow("coder_tester", max_turns=0)


def test_case_16_agreement_on_a_wrong_answer_ends_the_episode_and_is_no_success(staged):
    played = staged(CoderTester(), DOUBLE, {"coder": ["x + n5"], "tester": [["n4 = n9", "n4 = n8"]]}, width=2)
    wrong = staged(CoderTester(), DOUBLE, {"coder": ["x + n5"], "tester": ["n4 = n9"]})
    assert wrong.outcome.metrics == {"turns": 1, "agreed": 1.0}
    assert (wrong.outcome.success, wrong.outcome.team) == (False, 0.25)
    assert played.local["tester", 0, 0] == [0.2, 1.0] and played.team["tester", 0, 0] == [0.0, 1.0]


def test_a_wrong_test_costs_and_a_test_that_finds_a_real_bug_pays(staged):
    tests = ["n4 = n8", "n5 = n10", "n4 = n9", "n3 = n6", "[ n1 ] = n2", "what"]
    played = staged(CoderTester(max_turns=1), DOUBLE, {"coder": ["x + n5"], "tester": [tests]}, width=6)
    # finds the bug; right and finds none; wrong; stands in the problem (twice its own fault: nothing new); no such
    # input; no test
    assert played.team["tester", 0, 0] == [1.0, 0.25, 0.0, 0.0, 0.0, 0.0]
    assert played.local["tester", 0, 0] == [1.0, 1.0, 0.2, 0.0, 0.2, 0.0]
    right = staged(CoderTester(max_turns=1), DOUBLE, {"coder": ["x + x"], "tester": [tests]}, width=6)
    assert right.team["tester", 0, 0][:3] == [1.0, 1.0, 0.0]


def test_the_coder_is_paid_for_building_running_and_passing(staged):
    said = {"coder": [["x * n2", "x + n5", "x [ n0 ]", "x +"]], "tester": ["n4 = n8"]}
    played = staged(CoderTester(max_turns=1), DOUBLE, said, width=4)
    assert played.team["coder", 0, 0] == [1.0, 0.25, 0.0, 0.0]
    assert played.local["coder", 0, 0] == [1.0, 0.4, 0.1, 0.0]
    assert code_reward({"builds": 1.0, "runs": 1.0, "share": 0.0}).local == 0.2


def test_both_roles_get_unequal_groups_at_alpha_0_and_at_alpha_1(staged, unequal):
    for program in (["x * n2", "x + n5"], ["x + n5", "x +"]):
        said = {"coder": [program], "tester": [["n4 = n8", "n4 = n9"]]}
        played = staged(CoderTester(), DOUBLE, said, width=2)
        assert all(min(counts) >= 1 for counts in unequal(played.episodes).values())


def test_without_a_reference_a_program_that_was_found_says_what_is_true_and_else_nobody_does(staged):
    task = replace(DOUBLE, reference="")
    said = {"coder": ["x + n5", "x * n2"], "tester": [["n4 = n8", "n4 = n10"], ["n6 = n12", "n6 = n1"]]}
    found = staged(CoderTester(max_turns=2), task, said, width=2, choose="random")
    assert found.local["tester", 0, 0] == [1.0, 0.2]
    unknown = staged(CoderTester(max_turns=1), task, {"coder": ["x + n5"], "tester": [["n4 = n8", "no"]]}, width=2)
    assert unknown.local["tester", 0, 0] == [0.2, 0.0] and unknown.team["tester", 0, 0] == [0.25, 0.25]
    call = SimpleNamespace(record=SimpleNamespace(candidates=[]))
    assert truth_of(task, [call]) is None and truth_of(DOUBLE, []) == DOUBLE.reference
    assert reward_of_test(True, None, False, 0.25).parts == {"valid": 1.0}


def test_the_chat_prompts_hold_program_and_mismatch_and_no_hidden_test(staged):
    said = {"coder": [code("print(1)"), code("print(input())")], "tester": [case("7", "7"), "none"]}
    played = staged(CoderTester(), ECHO, said, dialect="chat")
    assert played.outcome.success
    first, again = played.prompts["coder"][:2]
    assert first.startswith("<user>Problem:\nEcho a line.") and "You are the coder" in first
    assert "reads standard input" in first and "```python" in first
    assert "The coder's last program:\n```python\nprint(1)\n```" in again
    assert "Mismatch 1:\nTest input:\n7\nThe tester expects:\n7\nThe program then gave:\n'1" in again
    assert "**Test Input:**" in played.prompts["tester"][0] and "Mismatch 1:" in played.prompts["tester"][1]
    assert "held no test" in played.prompts["tester"][2]
    hidden = "golden-input-77"
    task = replace(ECHO, tests=((hidden, hidden),))
    played = staged(CoderTester(), task, said, dialect="chat")
    assert not any(hidden in prompt for shown in played.prompts.values() for prompt in shown)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (case("1\n[2, 3]", '"a"'), ("[1, [2, 3]]", '"a"')),
        (case("'x'", "True"), ('["x"]', "true")),
        (case("1", "2") + "\n" + case("3", "4"), ("[3]", "4")),
        (case("1", "2").replace("**", ""), ("[1]", "2")),
        (case("1", "2").lower(), ("[1]", "2")),
        (case("", "5"), ("[]", "5")),
        (case("x", "2"), None),
        (case("1", ""), None),
        (case("1", "{1, 2}"), None),
        (case("1", "nan"), None),
        (case("NaN", "1"), None),
        (case("[" * 3000, "1"), None),
        (case("1", "[__import__('os').system('touch x')]"), None),
        ("**Test Input:**\n```\n1\n```", None),
        ("n4 = n8", ("[4]", "8")),
        ("[ n1 ] = [ ]", ("[[1]]", "[]")),
        ("[ n1 = n2", None),
        ("n4 = n8 n9", None),
        ("n4 =", None),
        ("", None),
        ("x" * 5000, None),
    ],
)
def test_test_cases_are_read_from_prose_and_words_and_never_raise(text, found):
    assert read_case(DOUBLE, text) == found


def test_case_14_output_that_looks_like_code_is_data(staged, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile = "[__import__('os').system('touch case-14-was-run')]"
    said = {"coder": [code(f'print("{hostile}")')], "tester": [case(hostile, hostile)]}
    for task in (ECHO, DOUBLE):
        played = staged(CoderTester(max_turns=2), task, said, dialect="chat")
        assert not played.outcome.success
    assert list(tmp_path.iterdir()) == []


HOSTILE = {
    "environment": "import os\nprint(dict(os.environ))",
    "socket": "import socket\nsocket.create_connection(('127.0.0.1', 80), 1)",
    "forks": "import os\nfor _ in range(1000):\n    os.fork()",
    "memory": "x = [0]\nwhile True: x += x",
    "output": "while True: print('y' * 1000)",
    "sleep": "import time\ntime.sleep(600)",
    "stdin": "import sys\nsys.stdin.read()\nsys.stdin.read(1)\ninput()",
    "parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(-1, signal.SIGKILL)",
    "exit": "import os\nos._exit(0)",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_case_15_hostile_programs_are_contained_on_the_way_through_the_workflow(staged, name, monkeypatch):
    monkeypatch.setenv("MOTET_TEST_SECRET", "hunter2-of-case-15")
    own = os.getpid()
    said = {"coder": [code(HOSTILE[name])], "tester": [case("7", "7")]}
    played = staged(CoderTester(max_turns=1), replace(ECHO, time_limit_s=0.2), said, dialect="chat")
    assert (played.outcome.success, played.outcome.team) == (False, 0.0)
    assert "hunter2" not in str(played.prompts) + str(played.episodes)
    assert os.getpid() == own and shared().run("print(1)").stdout == "1\n"


def test_a_task_that_names_no_function_or_has_no_tests_does_not_fit():
    assert "names none" in str(CoderTester().fits(CodeTask("c", "q", "check", (("assert 1", ""),))))
    assert "plays tasks that are CodeTask" in str(CoderTester().fits(object()))
    assert CoderTester().fits(DOUBLE) is None and CoderTester().fits(ECHO) is None


def test_a_task_of_mini_code_passes_the_check_that_is_shipped_for_ones_own():
    task = MiniCode(examples=2).task("train", 2)
    texts = ["x * n2", "sum ( a for a in x )", "[ n1 n2 ] = n3", "n4 = n8", code("def f(x): return x")]
    passed = check_workflow(CoderTester(max_turns=2), task, texts=texts)
    assert passed == ["fits", "dialects", "plays", "worth", "pure", "replay", "evaluation"]


MEAN = (
    'def mean(items, k=1):\n    """As in mean([1, 2], 3).\n    >>> mean([4, 8])\n    6.0\n    >>> mean([])\n    0"""\n'
)


@pytest.mark.parametrize(
    ("task", "copied", "new"),
    [
        (DOUBLE, ["[1]", "[1.0]", "[ 1 ]", "[3]"], ["[0]", "[2]", "[[1]]"]),
        (replace(DOUBLE, question="f(7) is 14, f(x) is more", num_public=0), ["[7]"], ["[1]", "[14]"]),
        (CodeTask("m", MEAN, "check", (("check(mean)", ""),), function="mean"),
         ["[[4, 8]]", "[[4, 8.0]]", "[[1, 2], 3]", "[[]]"], ["[[8, 4]]", "[[4, 8], 1]", "[]"]),
        (CodeTask("m", "Mean.", "check", (("assert mean([2]) == 2", ""), ("assert mean([3]) == 3", "")), 1, "mean"),
         ["[[2]]"], ["[[3]]"]),
        (replace(DOUBLE, question="Input: f(", function="Solution().f", num_public=0), [], ["[1]"]),
        (replace(ECHO, num_public=1), ["1\n", " 1"], ["2\n", "1 1"]),
        (replace(ECHO, question="-----Input-----\nA line of 5.\nSample Input 1:\n\n3 4\n7\n\nOutput\n8"),
         ["3 4\n7\n", "3 4 7"], ["5", "8", "3 5\n7"]),
    ],
)  # fmt: skip
def test_an_input_that_the_problem_shows_is_not_new_in_whatever_form_it_is_shown(task, copied, new):
    """A test copied out of the problem, also of sets that mark none of their tests as public (HumanEval, APPS)."""
    assert [is_new(task, (given, "0")) for given in copied + new] == [False] * len(copied) + [True] * len(new)
