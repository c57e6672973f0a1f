"""The program inside an answer, and how an answer to a programming problem must look."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from motet.tasks.small_programs import expression_in, program_of

if TYPE_CHECKING:
    from motet.tasks.code_tasks import CodeTask

_BLOCK = re.compile(r"^[ \t]*```[ \t]*([A-Za-z0-9_+-]*)[ \t]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_PYTHON = ("", "python", "python3", "py")


def find_program(text: str) -> str | None:
    """The program that an answer gives, or None. Nothing is run.

    Where the text has fenced blocks, the last one that is marked as Python or not marked at all and holds anything; a
    block without an end was cut off and does not count. Where it has none, the whole text as words of the compact
    dialect (`motet.tasks.small_programs`), joined to a program that defines `f(x)`; one without an `x` also prints
    its value.

    >>> find_program("So:\\n```python\\nprint(1)\\n```\\nDone.")
    'print(1)\\n'
    >>> find_program("x * n2 + n3"), find_program("I do not know"), find_program("```python\\nprint(")
    ('def f(x):\\n    return x * 2 + 3\\n', None, None)
    """
    if "```" not in text:
        expression = expression_in(text)
        return None if expression is None else program_of(expression)
    blocks = [body for language, body in _BLOCK.findall(text) if language.lower() in _PYTHON and body.strip()]
    return blocks[-1] if blocks else None


def program_in(task: CodeTask, text: str) -> str | None:
    """`find_program`, but the words of the tiny models count only for a task that has words itself: a bare `42` is no
    program to any other.
    """
    return find_program(text) if task.words or "```" in text else None


def answer_form(task: CodeTask) -> str:
    """How the program must take its input and give its answer, one or two sentences for a model that reads prose."""
    if task.kind == "stdin":
        how = "Write a Python program that reads standard input with input() and writes its answer with print()."
    elif "." in task.function:
        how = f"Write Python code in which `{task.function}(...)` gives the answer."
    else:
        how = f"Write Python code that defines the function `{task.function}`." if task.function else _BARE
    begins = f" It begins like this:\n```\n{task.starter.rstrip()}\n```\n" if task.starter.strip() else " "
    return f"{how}{begins}End with the whole program in one block that starts with ```python and ends with ```."


_BARE = "Write Python code."


def normal_form(program: str) -> str:
    """A program as programs are compared with one another: comments, blank space and quotes aside, where it is Python.

    >>> normal_form("def f(x):  # double\\n  return (x*2)"), normal_form("no code ")
    ('def f(x):\\n    return x * 2', 'no code')
    """
    try:
        return ast.unparse(ast.parse(program))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # what the parser says of text that is no Python
        return program.strip()
