"""Arithmetic that a tiny model can learn: two operands, one operation, one whole number.

The operands of a task are in one split by a hash of the unordered pair: whoever was trained has never seen the two
operands of a test task together, in either order and under any operation.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from random import Random

from motet.errors import ConfigError, TaskError
from motet.tasks.answering import BOXED_FORM
from motet.tasks.answers.extract import extract
from motet.tasks.lookup import refuse_lookup

SPLITS = ("train", "validation", "test")
OPERATIONS = {"+": "plus", "-": "minus", "*": "times"}
MAX_OPERAND = 9_999
_SHARES = {"train": 0.8, "validation": 0.1, "test": 0.1}
_SAMPLE = 2_000
_NUMBER = re.compile(r"(?<![\d.])-?(?:\d(?: \d)+|\d{1,3}(?:,\d{3})+|\d+)(?!\.?\d|,\d{3}| \d)")


@dataclass(frozen=True, slots=True)
class ArithmeticTask:
    """`left operation right`. An answer counts as the number it is, whether in one piece or digit by digit.

    >>> task = ArithmeticTask("sum-37-45", 37, "+", 45)
    >>> task.words, task.answer, task.check("8 2"), task.check(r"\\boxed{82}"), task.check("28")
    ('3 7 + 4 5 =', 82, 1.0, 1.0, 0.0)
    """

    id: str
    left: int
    operation: str
    right: int

    @property
    def answer(self) -> int:
        if self.operation == "+":
            return self.left + self.right
        return self.left - self.right if self.operation == "-" else self.left * self.right

    @property
    def question(self) -> str:
        return f"What is {self.left} {OPERATIONS[self.operation]} {self.right}?"

    @property
    def answer_form(self) -> str:
        return BOXED_FORM

    @property
    def words(self) -> str:
        return f"{digits(self.left)} {self.operation} {digits(self.right)} ="

    def check(self, text: str) -> float:
        """1 where the number that `text` ends in is the right one, else 0."""
        return float(self.answer_in(text) == str(self.answer))

    def answer_in(self, text: str) -> str | None:
        """The number in a box, after #### or "answer is", else the last one of the text, without leading zeros."""
        found = extract(text, ("boxed", "hashes", "stated"))
        numbers = _NUMBER.findall(found.answer if found else text)
        if not numbers:
            return None
        bare = re.sub(r"[ ,]", "", numbers[-1])
        sign, size = ("-" if bare.startswith("-") else ""), bare.lstrip("-").lstrip("0") or "0"
        return size if size == "0" else sign + size

    def form(self, text: str) -> float:
        """1 for a boxed number, and for digits set apart by spaces and nothing else, without a leading zero; else 0."""
        boxed = extract(text, ("boxed",))
        if boxed:
            return float(_NUMBER.fullmatch(boxed.answer) is not None)
        said = text.split()
        is_digits = bool(said) and all(len(word) == 1 and word in "0123456789" for word in said)
        return float(is_digits and (said[0] != "0" or len(said) == 1))


def digits(number: int) -> str:
    """A number of at least 0, one word per digit.

    >>> digits(407)
    '4 0 7'
    """
    return " ".join(str(number))


@lru_cache(maxsize=100_000)
def split_of(one: int, other: int) -> str:
    """The split of an unordered pair of operands: 80% train, 10% validation, 10% test, by hash.

    >>> split_of(37, 45) == split_of(45, 37)
    True
    """
    pair = f"{min(one, other)} {max(one, other)}".encode()
    place = int.from_bytes(blake2b(pair, digest_size=8).digest(), "big") / 2**64
    for split, share in _SHARES.items():
        place -= share
        if place < 0:
            return split
    return SPLITS[-1]


class Arithmetic:
    """Task set `arithmetic`: `operations` out of `+`, `-` and `*` on operands from `low` to `high`, both included.

    Of a difference the larger operand comes first, so that no answer is below 0. Every split is endless; a task is a
    pure function of (settings, split, index). Raises `ConfigError` for settings out of range and for a split without a
    pair, `TaskError` where a look-up of the training split solves more than 5% of the test split.

    >>> tasks = Arithmetic(low=10, high=99)
    >>> task = tasks.task("test", 0)
    >>> split_of(task.left, task.right), task == tasks.task("test", 0)
    ('test', True)
    >>> Arithmetic(low=0, high=9, operations="*")
    Traceback (most recent call last):
    motet.errors.TaskError: a look-up of the training set solves 36.0% of the held-out tasks, 5% may \
[task_set=arithmetic]. To fix it: widen low .. high
    """

    splits = SPLITS

    def __init__(
        self, low: int = 10, high: int = 99, operations: str = "+", seed: int = 0, name: str = "arithmetic"
    ) -> None:
        self.low, self.high, self.operations, self.seed, self.name = low, high, operations, seed, name
        where: dict[str, object] = {"task_set": name}
        if not 0 <= low < high <= MAX_OPERAND:
            fix = f"keep 0 <= low < high <= {MAX_OPERAND}"
            raise ConfigError(f"operands from {low} to {high}", where=where, fix=fix)
        if not operations or len(set(operations)) < len(operations) or set(operations) - set(OPERATIONS):
            fix = "take some of + - *, each once, such as +-"
            raise ConfigError(f"operations are {operations!r}", where=where, fix=fix)
        self.lookup_share = refuse_lookup(
            name, self._pairs("train", 2 * _SAMPLE), self._pairs("test", _SAMPLE), fix="widen low .. high"
        )

    def size(self, split: str) -> int | None:
        return None

    def task(self, split: str, index: int) -> ArithmeticTask:
        if split not in SPLITS:
            fix = f"use one of {', '.join(SPLITS)}"
            raise TaskError(f"no split {split!r}", where={"task_set": self.name}, fix=fix)
        rng = Random(f"{self.seed} {split} {index}")
        operation = self.operations[rng.randrange(len(self.operations))]
        for _ in range(10_000):
            left, right = rng.randint(self.low, self.high), rng.randint(self.low, self.high)
            if split_of(left, right) == split:
                break
        else:
            raise ConfigError(f"no pair for split {split!r}", where={"task_set": self.name}, fix="widen low .. high")
        if operation == "-" and left < right:
            left, right = right, left
        return ArithmeticTask(f"{left}{operation}{right}", left, operation, right)

    def _pairs(self, split: str, num: int) -> list[tuple[str, int]]:
        return [(task.words, task.answer) for task in (self.task(split, index) for index in range(num))]
