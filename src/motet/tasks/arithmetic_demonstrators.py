"""Demonstrators of arithmetic for the warm start of tiny models: what a role of a team might say, in compact words.

A demonstrator answers in one of three ways:

    PERFECT    right: the sum, the truth of a verdict, the number of a right answer
    WRONG      never right where that is possible, and in a coherent way: the carry is forgotten where there is one and
               made up where there is none, a verdict is turned round, the first wrong answer is chosen
    RANDOM     as many digits as the right answer has, either verdict, any number

The share of PERFECT in a mixture is about the share of tasks that a model trained on it solves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from random import Random
from typing import Any

from motet.errors import TaskError
from motet.tasks.arithmetic import ArithmeticTask, digits

PERFECT, WRONG, RANDOM = range(3)
SOLVERS = ("solver", "voter", "generator", "debater", "worker", "synthesizer", "reasoner")


def answer(role: str, task: ArithmeticTask, seen: Mapping[str, Any], kind: int, rng: Random) -> str:
    """What `role` says. `seen` holds what it was shown: `answers`, the texts before an aggregator or judge, and
    `answer`, the text before an evaluator; other roles need nothing.

    Pure in its arguments and the state of `rng`. Raises `TaskError` for a role without a demonstrator.

    >>> task, rng = ArithmeticTask("t", 37, "+", 45), Random(0)
    >>> [answer("voter", task, {}, kind, rng) for kind in (PERFECT, WRONG)]
    ['8 2', '7 2']
    >>> [answer("evaluator", task, {"answer": "7 2"}, kind, rng) for kind in (PERFECT, WRONG)]
    ['no', 'yes']
    >>> [answer("aggregator", task, {"answers": ["7 2", "8 2", "1"]}, kind, rng) for kind in (PERFECT, WRONG)]
    ['2', '1']
    """
    if role in SOLVERS:
        return _solve(task, kind, rng)
    if role == "evaluator":
        is_right = task.check(seen["answer"]) == 1.0
        says_yes = rng.random() < 0.5 if kind == RANDOM else is_right if kind == PERFECT else not is_right
        return "yes" if says_yes else "no"
    if role in ("aggregator", "judge"):
        return _select([task.check(text) == 1.0 for text in seen["answers"]], kind, rng)
    known = ", ".join((*SOLVERS, "evaluator", "aggregator", "judge"))
    raise TaskError(f"no demonstrator for the role {role!r}", where={"task": task.id}, fix=f"use one of {known}")


def _select(is_right: Sequence[bool], kind: int, rng: Random) -> str:
    """The number, from 1, of the first right or wrong one; of the first where there is none such."""
    if kind == RANDOM:
        return str(rng.randint(1, len(is_right)))
    wanted = kind == PERFECT
    return str(is_right.index(wanted) + 1 if wanted in is_right else 1)


def _solve(task: ArithmeticTask, kind: int, rng: Random) -> str:
    if kind == PERFECT:
        return digits(task.answer)
    if kind == WRONG:
        return digits(without_carry(task))
    size = len(str(task.answer))
    return " ".join(str(rng.randint(1 if place == 0 and size > 1 else 0, 9)) for place in range(size))


def without_carry(task: ArithmeticTask) -> int:
    """The answer with the carry forgotten; where there is none to forget, with one made up. Never the right one.

    >>> [without_carry(ArithmeticTask("t", 37, op, 45)) for op in "+"], without_carry(ArithmeticTask("t", 31, "+", 42))
    ([72], 83)
    >>> without_carry(ArithmeticTask("t", 52, "-", 17)), without_carry(ArithmeticTask("t", 37, "*", 4))
    (45, 28)
    """
    if task.operation == "*":
        found = _product(task.left, task.right)
    else:
        sign = 1 if task.operation == "+" else -1
        places = zip_longest(reversed(str(task.left)), reversed(str(task.right)), fillvalue="0")
        found = _joined([(int(one) + sign * int(other)) % 10 for one, other in places])
    return found if found != task.answer else task.answer + 10


def _product(left: int, right: int) -> int:
    """Long multiplication that keeps the last digit of every column and forgets the rest."""
    columns = [0] * (len(str(left)) + len(str(right)))
    for place, one in enumerate(reversed(str(left))):
        for other_place, other in enumerate(reversed(str(right))):
            columns[place + other_place] += int(one) * int(other)
    return _joined([column % 10 for column in columns])


def _joined(columns: Sequence[int]) -> int:
    return sum(digit * 10**place for place, digit in enumerate(columns))
