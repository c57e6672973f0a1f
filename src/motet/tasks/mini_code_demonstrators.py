"""Demonstrators of `mini_code` for the warm start of tiny models: what coder and tester might say, in compact words.

    PERFECT    the reference program; a new test with the right value
    WRONG      a program that is wrong in a coherent way: one constant off by one, or where there is none another
               operation of the same shape; a test whose value is that of such a program
    RANDOM     any function of the training families; a test with any value of the right shape

The share of PERFECT in a mixture is about the share of tasks that a model trained on it solves.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from random import Random
from typing import Any

from motet.errors import TaskError
from motet.tasks.code_tasks import CodeTask
from motet.tasks.mini_code import MAX_VALUE, draw_input, is_said, pair_words
from motet.tasks.mini_code_functions import Function, functions

PERFECT, WRONG, RANDOM = range(3)
CODERS = ("coder", "solver", "voter", "generator", "worker", "synthesizer")
KINDS = ("number", "list")


def answer(role: str, task: CodeTask, seen: Mapping[str, Any], kind: int, rng: Random) -> str:
    """What `role` says of a task of `mini_code`; nothing that it was shown matters (`seen` may be empty).

    Pure in its arguments and the state of `rng`. Raises `TaskError` for a role without a demonstrator.

    >>> from motet.tasks.mini_code_functions import family
    >>> from motet.tasks.mini_code import make_task
    >>> function = family("sum", "times")[1]
    >>> task, rng = make_task(function.id + "-t", function, ([[1, 2]], [[3]]), True), Random(0)
    >>> [answer("coder", task, {}, kind, rng) for kind in (PERFECT, WRONG)]
    ['sum ( a * n3 for a in x )', 'sum ( a * n4 for a in x )']
    >>> [answer("tester", task, {}, kind, rng) for kind in (PERFECT, WRONG)]
    ['[ n0 n4 n8 n7 ] = n57', '[ n4 n2 n1 ] = n28']
    """
    function = function_of(task)
    if role in CODERS:
        return _as(function, kind, rng).words
    if role == "tester":
        return _test(task, function, kind, rng)
    known = ", ".join((*CODERS, "tester"))
    raise TaskError(f"no demonstrator for the role {role!r}", where={"task": task.id}, fix=f"use one of {known}")


def function_of(task: CodeTask) -> Function:
    """The function behind a task of `mini_code`. Raises `TaskError` for any other task."""
    name = task.id.rsplit("-", 1)[0]
    for families in functions().values():
        for function in families.get(name.split("-")[0], ()):
            if function.id == name:
                return function
    raise TaskError("no task of mini_code", where={"task": task.id})


def mistaken(function: Function, rng: Random) -> Function:
    """A function that is wrong in a coherent way: a constant off by one, else another one with the same outer or inner
    operation; never one that agrees on every probe, since no two functions do.
    """
    near = []
    alike = []
    for family in functions().values():
        for members in family.values():
            for other in members:
                steps = abs(other.outer_k - function.outer_k) + abs(other.inner_k - function.inner_k)
                if other.family == function.family and steps == 1:
                    near.append(other)
                elif other.takes_list == function.takes_list and (
                    (other.outer is function.outer) != (other.inner is function.inner)
                ):
                    alike.append(other)
    return rng.choice(near or alike)


def _as(function: Function, kind: int, rng: Random) -> Function:
    if kind == PERFECT:
        return function
    if kind == WRONG:
        return mistaken(function, rng)
    families = functions()["train"]
    return rng.choice(families[rng.choice([name for name in families if name.startswith(KINDS[function.takes_list])])])


def _test(task: CodeTask, function: Function, kind: int, rng: Random) -> str:
    """A test on a new input. WRONG looks for an input on which the mistaken function differs."""
    shown = [json.loads(given)[0] for given, _ in task.public_tests]
    said = _as(function, kind if kind == WRONG else PERFECT, rng)
    for _ in range(200):
        x = draw_input(function.takes_list, rng)
        right, value = function.on(x), said.on(x)
        if kind == RANDOM and is_said(right):
            drawn = [rng.randint(0, MAX_VALUE) for _ in right] if isinstance(right, list) else rng.randint(0, MAX_VALUE)
            return pair_words(x, drawn)
        if x not in shown and is_said(value) and is_said(right) and (kind == PERFECT or value != right):
            return pair_words(x, value)
    return pair_words(shown[0], 0 if kind != PERFECT else function.on(shown[0]))
