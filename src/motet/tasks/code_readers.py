"""Makes a `CodeTask` of one row of each code set, in the hub's own schema and encodings."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from motet.tasks.code_tasks import CodeTask
from motet.tasks.pickled_text import Refused, unpack
from motet.tasks.rows import LeftOut, Place, Row, text_of

Pairs = list[tuple[str, str]]

_PYTHON3 = 3
"""The number of Python 3 among the languages of CodeContests."""
_METHOD = re.compile(r"^\s*class Solution\b", re.MULTILINE)


def human_eval(row: Row, place: Place) -> CodeTask:
    """`task_id, prompt, entry_point, canonical_solution, test`; one test, the function `check` of the row."""
    prompt, name = text_of(row, ("prompt",), place), text_of(row, ("entry_point",), place)
    test, body = text_of(row, ("test",), place), text_of(row, ("canonical_solution",), place)
    source = f"{test}\n\ncheck({name})\n"
    _must_parse(source, "test", place)
    return CodeTask(
        text_of(row, ("task_id",), place),
        prompt,
        "check",
        ((source, ""),),
        function=name,
        starter=prompt,
        reference=prompt + body,
    )


def mbpp(row: Row, place: Place) -> CodeTask:
    """The sanitized rows (`prompt, test_imports`) and the full ones (`text, test_setup_code`); one test per assertion.

    The first assertion is public: the problem text alone does not name the function.
    """
    number = row.get("task_id")
    if not isinstance(number, int):
        raise place.wrong(f"'task_id' is {number!r}", "task_id", "make it a number")
    tests = _texts(row, "test_list", place)
    for test in tests:
        _must_parse(test, "test_list", place)
    setup = _maybe(row, "test_setup_code", place) or "\n".join(_texts(row, "test_imports", place, may_lack=True))
    return CodeTask(
        str(number),
        text_of(row, ("prompt", "text"), place),
        "check",
        tuple((test, "") for test in tests),
        num_public=1,
        function=_called(tests[0]),
        setup=setup,
        reference=text_of(row, ("code",), place),
    )


def apps(row: Row, place: Place) -> CodeTask:
    """`problem_id, question, solutions, input_output, starter_code`; the two in the middle are JSON inside a text."""
    question = text_of(row, ("question",), place)
    name = row.get("problem_id", row.get("id", place.line))
    held = row.get("input_output")
    if held == "":
        raise LeftOut("no tests")
    tests = _json_in(held, "input_output", place)
    if not isinstance(tests, dict):
        raise place.wrong(f"'input_output' holds a {type(tests).__name__}", "input_output", "make it an object")
    starter = _maybe(row, "starter_code", place)
    solutions = _json_in(row["solutions"], "solutions", place) if row.get("solutions") else []
    if not isinstance(solutions, list) or not all(isinstance(one, str) for one in solutions):
        raise place.wrong("'solutions' holds no list of texts", "solutions", "make it a JSON list of programs")
    task = in_outs(str(name), question, tests, "input_output", starter, place)
    return CodeTask(
        task.id, question, task.kind, task.tests, 0, task.function, starter, "", solutions[0] if solutions else ""
    )


def in_outs(name: str, question: str, tests: Row, key: str, starter: str, place: Place) -> CodeTask:
    """The form of APPS and TACO: `{"inputs": [...], "outputs": [...]}`, with `fn_name` where a function is called.

    Where every output is a list of one, that list only wraps the value: so both sets write most results.
    """
    given, wanted = tests.get("inputs"), tests.get("outputs")
    if not isinstance(given, list) or not isinstance(wanted, list) or len(given) != len(wanted):
        fix = "give two lists of the same length, inputs and outputs"
        raise place.wrong("inputs and outputs are no pair of lists", key, fix)
    if not given:
        raise LeftOut("no tests")
    function = tests.get("fn_name")
    if not function:
        pairs = [(_lines(one, key, place), _lines(two, key, place)) for one, two in zip(given, wanted)]
        return CodeTask(name, question, "stdin", tuple(pairs), starter=starter)
    if not all(isinstance(one, list) for one in given):
        raise place.wrong("an input of a function is no list of arguments", key, "make each input a list")
    if all(isinstance(one, list) and len(one) == 1 for one in wanted):
        wanted = [one[0] for one in wanted]
    calls = tuple((json.dumps(one), json.dumps(two)) for one, two in zip(given, wanted))
    return CodeTask(name, question, "call", calls, function=expression(str(function), starter), starter=starter)


def code_contests(row: Row, place: Place) -> CodeTask:
    """`name, description, public_tests, private_tests, generated_tests, solutions, time_limit, input_file`."""
    if row.get("input_file") or row.get("output_file"):
        raise LeftOut("reads or writes a file")
    groups = [_columns(row, key, place) for key in ("public_tests", "private_tests", "generated_tests")]
    tests = [pair for group in groups for pair in group]
    if not tests:
        raise LeftOut("no tests")
    return CodeTask(
        text_of(row, ("name",), place),
        text_of(row, ("description",), place),
        "stdin",
        tuple(tests),
        num_public=len(groups[0]),
        reference=_python(row.get("solutions")),
        time_limit_s=_seconds(row.get("time_limit"), place),
    )


def live_code_bench(row: Row, place: Place) -> CodeTask:
    """`question_id, question_content, starter_code, public_test_cases, private_test_cases, metadata`.

    Public tests are JSON inside a text; private ones too, or packed (`motet.tasks.pickled_text`); each test says
    whether it is read from standard input or a call, whose arguments stand one JSON value a line.
    """
    question, name = text_of(row, ("question_content",), place), text_of(row, ("question_id",), place)
    public = _cases(row, "public_test_cases", place)
    cases = public + _cases(row, "private_test_cases", place)
    if not cases:
        raise LeftOut("no tests")
    held = row.get("metadata") or "{}"
    metadata = _json_in(held, "metadata", place)
    function = metadata.get("func_name") if isinstance(metadata, dict) else None
    starter = _maybe(row, "starter_code", place)
    return mixed(name, question, cases, "public_test_cases", str(function or ""), starter, len(public), place)


def mixed(
    name: str, question: str, cases: Sequence[Any], key: str, function: str, starter: str, num_public: int, place: Place
) -> CodeTask:
    """A task out of cases `{"input", "output", "testtype" or "type"}`, which must all be of one kind."""
    pairs: Pairs = []
    kinds = set()
    for case in cases:
        if not isinstance(case, dict) or "input" not in case or "output" not in case:
            raise place.wrong(f"a test is {str(case)[:60]!r}", key, "make each an object with input and output")
        info = case.get("metadata")
        function = function or case.get("fn_name") or (info.get("func_name") if isinstance(info, dict) else "") or ""
        calls = str(case.get("testtype") or case.get("type") or "stdin") in ("functional", "function_call")
        kinds.add("call" if calls else "stdin")
        if calls:
            pairs.append(_call(case["input"], case["output"], key, place))
        else:
            pairs.append((_lines(case["input"], key, place), _lines(case["output"], key, place)))
    if len(kinds) > 1:
        raise place.wrong("tests of two kinds in one row", key, "keep those from standard input, or the calls")
    if not pairs:
        raise LeftOut("no tests")
    if kinds == {"stdin"}:
        return CodeTask(name, question, "stdin", tuple(pairs), num_public, starter=starter)
    if not function:
        raise place.wrong("calls without the name of a function", "metadata.func_name", "name the function")
    return CodeTask(name, question, "call", tuple(pairs), num_public, expression(function, starter), starter)


def deep_coder(row: Row, place: Place) -> CodeTask:
    """`problem, tests, starter_code, metadata`: its four parts keep tests as a list of cases or in the form of APPS."""
    question = text_of(row, ("problem", "question"), place)
    tests = _json_in(row.get("tests"), "tests", place)
    starter = _maybe(row, "starter_code", place)
    metadata = row.get("metadata")
    metadata = _json_in(metadata, "metadata", place) if isinstance(metadata, str) and metadata else metadata
    function = str(metadata.get("func_name") or "") if isinstance(metadata, dict) else ""
    name = str(row.get("id", place.line))
    if isinstance(tests, dict):
        return in_outs(name, question, tests, "tests", starter, place)
    if not isinstance(tests, list):
        raise place.wrong(f"'tests' holds a {type(tests).__name__}", "tests", "make it a list of cases")
    return mixed(name, question, tests, "tests", function, starter, 0, place)


def stdin_problems(row: Row, place: Place) -> CodeTask:
    """`id, problem, inputs, outputs`: rows of one's own."""
    question = text_of(row, ("problem", "question"), place)
    return in_outs(str(row.get("id", place.line)), question, row, "inputs", "", place)


def expression(function: str, starter: str) -> str:
    """How the program's function is reached: as a method where the starter is a class.

    >>> expression("add", "class Solution:"), expression("add", "")
    ('Solution().add', 'add')
    """
    return f"Solution().{function}" if _METHOD.search(starter) else function


def _call(given: Any, wanted: Any, key: str, place: Place) -> tuple[str, str]:
    """Arguments as a JSON list, value as JSON. Texts hold JSON, arguments one a line; lists are values already."""
    if isinstance(given, str):
        given = [_json_in(line, key, place) for line in given.splitlines() if line.strip()]
    if not isinstance(given, list):
        raise place.wrong("arguments are no list", key, "give a list, or one JSON value a line")
    if isinstance(wanted, str):
        wanted = _json_in(wanted, key, place)
    elif isinstance(wanted, list) and len(wanted) == 1:
        wanted = wanted[0]
    return json.dumps(given), json.dumps(wanted)


def _cases(row: Row, key: str, place: Place) -> list[Any]:
    """The list of tests under `key`: JSON inside a text, packed or not."""
    held = row.get(key)
    if not isinstance(held, str):
        raise place.wrong(f"{key!r} is a {type(held).__name__}", key, "make it a text that holds the tests")
    if not held.lstrip().startswith("["):
        try:
            held = unpack(held)
        except Refused as error:
            fix = "pack it as base64(zlib(pickle(JSON text))); nothing else is ever unpickled"
            raise place.wrong(f"{key!r} holds no packed text: {error}", key, fix) from error
    cases = _json_in(held, key, place)
    if not isinstance(cases, list):
        raise place.wrong(f"{key!r} holds a {type(cases).__name__}", key, "make it a list of tests")
    return cases


def _columns(row: Row, key: str, place: Place) -> Pairs:
    """Tests kept as two columns, `{"input": [...], "output": [...]}`."""
    held = row.get(key) or {"input": [], "output": []}
    given, wanted = (held.get("input"), held.get("output")) if isinstance(held, dict) else (None, None)
    if not isinstance(given, list) or not isinstance(wanted, list) or len(given) != len(wanted):
        fix = 'make it {"input": [...], "output": [...]} of the same length'
        raise place.wrong(f"{key!r} is no pair of lists", key, fix)
    return [(_lines(one, key, place), _lines(two, key, place)) for one, two in zip(given, wanted)]


def _python(solutions: Any) -> str:
    """The first Python 3 program among those of CodeContests, or nothing."""
    columns = (solutions.get("language"), solutions.get("solution")) if isinstance(solutions, dict) else ([], [])
    if not all(isinstance(column, list) for column in columns):
        return ""
    programs = (text for language, text in zip(*columns) if language == _PYTHON3 or language == "PYTHON3")
    return next((text for text in programs if isinstance(text, str)), "")


def _seconds(limit: Any, place: Place) -> float:
    """The time limit of CodeContests, `{"seconds": 1, "nanos": 500000000}`; 0 where there is none."""
    if limit is None:
        return 0.0
    parts = [limit.get(key) or 0 for key in ("seconds", "nanos")] if isinstance(limit, dict) else [-1]
    if not all(isinstance(part, (int, float)) and 0 <= part <= 10**10 for part in parts):
        raise place.wrong(f"'time_limit' is {str(limit)[:60]!r}", "time_limit", 'make it {"seconds": 1, "nanos": 0}')
    return parts[0] + parts[1] / 1e9


def _maybe(row: Row, key: str, place: Place) -> str:
    """A text that a row may lack."""
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise place.wrong(f"{key!r} is a {type(value).__name__}", key, "make it a text, or leave it out")
    return value or ""


def _json_in(held: Any, key: str, place: Place) -> Any:
    if not isinstance(held, str):
        raise place.wrong(f"{key!r} is a {type(held).__name__}", key, "make it a text that holds JSON")
    try:
        return json.loads(held)
    except json.JSONDecodeError as error:
        raise place.wrong(f"{key!r} holds no JSON: {error.msg}", key, "make it JSON") from error
    except RecursionError as error:
        raise place.wrong(f"{key!r} is nested too deep", key, "make it JSON of some depth") from error
    except ValueError as error:  # a whole number of more digits than Python turns into one
        raise LeftOut("a number of thousands of digits") from error


def _lines(value: Any, key: str, place: Place) -> str:
    """What is read or printed: a text, or a list of lines."""
    if isinstance(value, list) and all(isinstance(line, (str, int, float)) for line in value):
        return "\n".join(map(str, value)) + "\n"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return f"{value}\n"
    if not isinstance(value, str):
        raise place.wrong(f"an input or output is a {type(value).__name__}", key, "make it a text or a list of lines")
    return value


def _texts(row: Row, key: str, place: Place, may_lack: bool = False) -> list[str]:
    value = row.get(key)
    if value is None and may_lack:
        return []
    if not isinstance(value, list) or not (value or may_lack) or not all(isinstance(one, str) for one in value):
        raise place.wrong(f"{key!r} is {str(value)[:60]!r}", key, "make it a list of texts")
    return value


def _must_parse(source: str, key: str, place: Place) -> None:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError) as error:
        raise place.wrong(f"test code is no Python: {error}", key, "make it Python") from error


_OF_PYTHON = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)


def _called(test: str) -> str:
    """The function that an assertion is about: the first that it calls and Python does not have, else the first."""
    calls: Iterable[ast.Call] = (node for node in ast.walk(ast.parse(test)) if isinstance(node, ast.Call))
    names = [node.func.id for node in calls if isinstance(node.func, ast.Name)]
    return next((name for name in names if name not in _OF_PYTHON), names[0] if names else "")
