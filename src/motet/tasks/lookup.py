"""How much of a held-out split a table of the training set solves: such a task measures memory, not skill."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import TypeVar

from motet.errors import TaskError

Answer = TypeVar("Answer")

MAX_SHARE = 0.05
"""A task set above this is refused."""


def lookup_share(train: Iterable[tuple[str, Answer]], held_out: Iterable[tuple[str, Answer]]) -> float:
    """The share of `held_out`, pairs of (question, answer), that a table of `train` answers right, in [0, 1].

    The table gives the most frequent answer that its question has in `train`; for a question that does not stand
    there, the most frequent answer of all. Ties go to the answer that came first. Raises `TaskError` where one of the
    two is empty: nothing would be measured.

    >>> lookup_share([("1 + 1", 2), ("1 + 2", 3), ("2 + 1", 3)], [("1 + 1", 2), ("3 + 0", 3), ("3 + 3", 6), ("4", 4)])
    0.5
    """
    by_question: dict[str, Counter[Answer]] = defaultdict(Counter)
    overall: Counter[Answer] = Counter()
    for question, answer in train:
        by_question[question][answer] += 1
        overall[answer] += 1
    asked = list(held_out)
    if not overall or not asked:
        raise TaskError("nothing to look up", fix="give at least one pair to train and one to held_out")
    common = overall.most_common(1)[0][0]
    table = {question: found.most_common(1)[0][0] for question, found in by_question.items()}
    return sum(table.get(question, common) == answer for question, answer in asked) / len(asked)


def refuse_lookup(
    name: str,
    train: Iterable[tuple[str, Answer]],
    held_out: Iterable[tuple[str, Answer]],
    *,
    fix: str,
    max_share: float = MAX_SHARE,
) -> float:
    """`lookup_share`, or a `TaskError` where it is above `max_share`.

    >>> refuse_lookup("sums", [("1 + 1", 2)], [("0 + 2", 2)], fix="take larger operands")
    Traceback (most recent call last):
    motet.errors.TaskError: a look-up of the training set solves 100.0% of the held-out tasks, 5% may [task_set=sums]. \
To fix it: take larger operands
    """
    share = lookup_share(train, held_out)
    if share > max_share:
        what = f"a look-up of the training set solves {share:.1%} of the held-out tasks, {max_share:.0%} may"
        raise TaskError(what, where={"task_set": name}, fix=fix)
    return share
