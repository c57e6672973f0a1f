"""Small programs that a tiny model can learn to write: `f(x)` out of a few pairs of input and output.

Whole families of functions (`mini_code_functions.py`) are held out; each is a new pair of two operations that training
shows with other partners. So a table of the training set solves nothing, and putting known parts together does.
"""

from __future__ import annotations

import json
from functools import lru_cache
from random import Random
from typing import Any

from motet.errors import ConfigError, TaskError
from motet.tasks.code_tasks import CodeTask
from motet.tasks.lookup import refuse_lookup
from motet.tasks.mini_code_functions import SPLITS, Function, agree, functions
from motet.tasks.small_programs import expression_in, program_of

MAX_VALUE = 63
"""The tiny models have words for n0 to n63; every input and output keeps to them."""
NUM_HIDDEN = 4
MAX_INPUT, MAX_ITEM = 12, 9
_LENGTHS = (3, 4)
_TRIES = 40
_SAMPLE = 60


def value_words(value: Any) -> str:
    """A number or a list of numbers in the words of the tiny models.

    >>> value_words(7), value_words([1, 0]), value_words([])
    ('n7', '[ n1 n0 ]', '[ ]')
    """
    if isinstance(value, list):
        return " ".join(["[", *map(value_words, value), "]"])
    return f"n{value}"


def pair_words(given: Any, wanted: Any) -> str:
    return f"{value_words(given)} = {value_words(wanted)}"


class MiniCode:
    """Task set `mini_code`. A task shows `examples` pairs (lists: one less) and keeps four more as golden tests beside
    them; no other function of its family fits the pairs it shows, and none at all fits the golden tests.

    Every split is endless and a task a pure function of (settings, split, index): a family, each as likely, then one of
    its functions, then its inputs. The chat question also says in words what the function does, unless `told` is
    false. Raises `ConfigError` for a setting out of range, `TaskError` where a look-up of the training split solves
    more than 5% of the test split.

    >>> task = MiniCode().task("test", 3)
    >>> task == MiniCode().task("test", 3), len(task.public_tests) + 4 == len(task.tests), "def f(x)" in task.reference
    (True, True, True)
    """

    splits = SPLITS

    def __init__(self, examples: int = 4, told: bool = True, seed: int = 0, name: str = "mini_code") -> None:
        self.examples, self.told, self.seed, self.name = examples, told, seed, name
        if not 2 <= examples <= 6:
            raise ConfigError(f"examples is {examples}", where={"task_set": name}, fix="set examples from 2 to 6")
        shown = {split: [self.task(split, index) for index in range(_SAMPLE)] for split in ("train", "test")}
        self.lookup_share = refuse_lookup(
            name,
            [(task.words, task.reference) for task in shown["train"]],
            [(task.words, task.reference) for task in shown["test"]],
            fix="hold other families out",
        )

    def size(self, split: str) -> int | None:
        return None

    def task(self, split: str, index: int) -> CodeTask:
        if split not in SPLITS:
            fix = f"use one of {', '.join(SPLITS)}"
            raise TaskError(f"no split {split!r}", where={"task_set": self.name}, fix=fix)
        rng = Random(f"{self.seed} {split} {index} {self.examples}")
        families = functions()[split]
        for _ in range(1000):
            family = families[rng.choice(sorted(families))]
            function = rng.choice(family)
            inputs = draw_inputs(function, family, self.examples - function.takes_list, rng)
            if inputs is not None:
                return make_task(f"{function.id}-{split[:2]}{index}", function, inputs, self.told)
        raise TaskError("no function can be told from its examples", where={"task_set": self.name})


def draw_inputs(
    function: Function, family: tuple[Function, ...], num_shown: int, rng: Random
) -> tuple[list[Any], list[Any]] | None:
    """Inputs to show and inputs to keep, all different; or None where no draw tells the function from its family."""
    for _ in range(_TRIES):
        shown = draw_some(function, num_shown, rng, [])
        if shown and _is_alone(function, family, shown):
            hidden = draw_some(function, NUM_HIDDEN, rng, shown)
            if hidden and _is_alone(function, _alike(function.takes_list), shown + hidden):
                return shown, hidden
    return None


def _is_alone(function: Function, others: tuple[Function, ...], inputs: list[Any]) -> bool:
    """Whether none of `others` has the same values on these inputs."""
    values, tables = [function.on(x) for x in inputs], _tables()
    if function.takes_list:
        return not any(agree(other, inputs, values) for other in others if other is not function)
    pairs = list(zip(inputs, values))
    return not any(
        all(tables[id(other)][x] == value for x, value in pairs) for other in others if other is not function
    )


@lru_cache(maxsize=1)
def _tables() -> dict[int, tuple[int, ...]]:
    """The values of every function of a number (by its `id()`: there is one of each) on all inputs that tasks have."""
    return {id(function): tuple(map(function.on, range(MAX_INPUT + 1))) for function in _alike(False)}


@lru_cache(maxsize=2)
def _alike(takes_list: bool) -> tuple[Function, ...]:
    every = (member for families in functions().values() for members in families.values() for member in members)
    return tuple(function for function in every if function.takes_list == takes_list)


def draw_some(function: Function, num: int, rng: Random, but: list[Any]) -> list[Any]:
    """`num` different inputs, none of `but`, whose values keep to the words; none at all where they are not found."""
    found: list[Any] = []
    for _ in range(60 * num):
        if len(found) == num:
            return found
        x = draw_input(function.takes_list, rng)
        if x not in found and x not in but and is_said(function.on(x)):
            found.append(x)
    return found if len(found) == num else []


def draw_input(takes_list: bool, rng: Random) -> Any:
    if takes_list:
        return [rng.randint(0, MAX_ITEM) for _ in range(rng.choice(_LENGTHS))]
    return rng.randint(0, MAX_INPUT)


def is_said(value: Any) -> bool:
    """Whether the tiny models have words for a value."""
    items = value if isinstance(value, list) else [value]
    return all(isinstance(item, int) and 0 <= item <= MAX_VALUE for item in items)


def make_task(name: str, function: Function, inputs: tuple[list[Any], list[Any]], told: bool) -> CodeTask:
    """The programming problem that shows `function` on the first inputs and judges it on all."""
    shown, hidden = inputs
    pairs = [(x, function.on(x)) for x in (*shown, *hidden)]
    expression = expression_in(function.words)
    if expression is None:
        raise TaskError(f"{function.words!r} is no program", where={"family": function.family})
    kind = "a list of whole numbers" if function.takes_list else "a whole number"
    does = f" It returns {function.says}." if told else ""
    examples = "\n".join(f"f({x}) = {value}" for x, value in pairs[: len(shown)])
    return CodeTask(
        name,
        f"Write a function f(x) of {kind}.{does} Examples:\n{examples}",
        "call",
        tuple((json.dumps([x]), json.dumps(value)) for x, value in pairs),
        num_public=len(shown),
        function="f",
        reference=program_of(expression),
        words=" ".join(f"{pair_words(x, value)} ;" for x, value in pairs[: len(shown)]),
    )
