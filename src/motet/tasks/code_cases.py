"""A test case that a tester writes: read from its answer, tried on programs, told to others.

A case is a pair of texts of the same form as `CodeTask.tests`: what is read and printed, or arguments and value as
JSON. Nothing of it is ever run in this process.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from motet.tasks.code_running import Result, aresults
from motet.tasks.code_tasks import CodeTask
from motet.tasks.mini_code import is_said, value_words

Case = tuple[str, str]

MAX_CHARACTERS = 4_000
_BLOCK = r"\**[ \t]*test[ \t]+{name}[ \t]*:?[ \t]*\**[ \t]*:?[ \t]*\n+[ \t]*```[^\n`]*\n(.*?)^[ \t]*```"
_GIVEN, _WANTED = (
    re.compile(_BLOCK.format(name=name), re.DOTALL | re.MULTILINE | re.IGNORECASE) for name in ("input", "output")
)
_VALUE = r"(?:n\d{1,2}|\[(?: n\d{1,2})* \])"
_COMPACT = re.compile(rf"({_VALUE}) = ({_VALUE})")


def read_case(task: CodeTask, text: str) -> Case | None:
    """The test case that an answer gives, or None. Never an exception.

    Prose: the last fenced block after `Test Input:` and the last after `Test Output:`; for a function the arguments,
    one JSON value (or Python literal) a line, and the value. A task with compact words also takes the whole text as
    `INPUT = OUTPUT` in those words.

    >>> task = CodeTask("t", "Double.", "call", (("[1]", "2"),), function="f", words="n1 = n2 ;")
    >>> read_case(task, "n3 = n6"), read_case(task, "[ n1 n2 ] = [ ]"), read_case(task, "n3 n6")
    (('[3]', '6'), ('[[1, 2]]', '[]'), None)
    >>> read_case(task, "**Test Input:**\\n```\\n3\\n```\\n**Test Output:**\\n```\\n6\\n```")
    ('[3]', '6')
    """
    if len(text) > MAX_CHARACTERS:
        return None
    words = _COMPACT.fullmatch(" ".join(text.split())) if task.words and task.kind == "call" else None
    if words is not None:
        return json.dumps([_said(words[1])]), json.dumps(_said(words[2]))
    given, wanted = _GIVEN.findall(text), _WANTED.findall(text)
    if not given or not wanted:
        return None
    if task.kind == "stdin":
        return given[-1], wanted[-1]
    try:
        arguments = [_plain(line) for line in given[-1].splitlines() if line.strip()]
        return json.dumps(arguments, allow_nan=False), json.dumps(_plain(wanted[-1]), allow_nan=False)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # text that is no plain value
        return None


def _said(words: str) -> Any:
    numbers = [int(word[1:]) for word in words.split() if word.startswith("n")]
    return numbers if words.startswith("[") else numbers[0]


def _plain(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return ast.literal_eval(text.strip())


def with_cases(task: CodeTask, cases: Sequence[Case]) -> CodeTask:
    """The same problem, judged by these cases alone."""
    return replace(task, kind="stdin" if task.kind == "stdin" else "call", tests=tuple(cases), num_public=0)


async def try_case(task: CodeTask, program: str | None, case: Case | None) -> Result:
    """How a program does on a case; status `none` without one of the two. Raises `SandboxError` where the sandbox
    fails.
    """
    if program is None or case is None:
        return Result("none")
    return (await aresults(with_cases(task, (case,)), program))[0]


def is_new(task: CodeTask, case: Case) -> bool:
    """Whether the input of a case is not one that the problem shows: as a public test, or in the words of the question,
    as a call of the function or as what follows the word `input`.

    >>> task = CodeTask("t", "Double: f(3) = 6.", "call", (("[1]", "2"), ("[2]", "4")), num_public=1, function="f")
    >>> [is_new(task, (given, "9")) for given in ("[1]", "[1.0]", "[3]", "[2]")]
    [False, False, False, True]
    """
    given, known = case[0], [shown for shown, _ in task.public_tests]
    if task.kind == "stdin":
        words, told = given.split(), task.question.split()
        return all(words != shown.split() for shown in known) and not (words and _follows_input(words, told))
    arguments = json.loads(given)
    known = [shown for shown in known if task.kind == "call"]
    return all(arguments != shown for shown in [*map(json.loads, known), *_calls_in(task)])


def _follows_input(words: Sequence[str], told: Sequence[str]) -> bool:
    """Whether these words stand in a row behind the word `input`, or the one after it (`Input 1:`)."""
    starts = (place for place, word in enumerate(told) if "input" in word.casefold())
    return any(words == told[place + gap : place + gap + len(words)] for place in starts for gap in (1, 2))


def _calls_in(task: CodeTask) -> list[list[Any]]:
    """The plain arguments of every call of the task's function that the question, or a public assertion, spells out."""
    found = []
    name = task.function.rpartition(".")[2]
    text = "\n".join([task.question, *(shown for shown, _ in task.public_tests if task.kind == "check")])
    for place in re.finditer(rf"(?<![\w.]){re.escape(name)}\(", text) if name else ():
        arguments = _closed(text, place.end())
        try:
            found.append(json.loads(json.dumps(list(ast.literal_eval(f"({arguments},)")) if arguments.strip() else [])))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):  # a signature, or no plain value
            continue
    return found


def _closed(text: str, start: int) -> str:
    """The text from `start` up to the bracket that closes what was opened before it; brackets in strings count."""
    depth = 1
    for place in range(start, min(len(text), start + MAX_CHARACTERS)):
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if not depth:
            return text[start:place]
    return text[start:start]


def got_words(got: str) -> str:
    """What a program gave on a case, in the words of the tiny models; `none` where they have none for it.

    >>> got_words("[1, 2]"), got_words("true"), got_words("-1"), got_words("")
    ('[ n1 n2 ]', 'none', 'none', 'none')
    """
    try:
        value = json.loads(got)
    except ValueError:
        return "none"
    items = value if isinstance(value, list) else [value]
    is_plain = all(type(item) is int for item in items) and is_said(value) and len(items) <= 8
    return value_words(value) if is_plain else "none"
