"""`reasoning_gym:<name>`: the generators of the package reasoning-gym as task sets (an extra)."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from motet.errors import ConfigError, TaskError
from motet.tasks.answers import extract
from motet.tasks.finding import near
from motet.tasks.rows import SPLITS, extra

MAX_REDRAWS = 50
_TAGGED = re.compile(r"<answer>\s?(.*?)\s?</answer>", re.DOTALL)
_EVALUATES = re.compile(r"(?<![\w.])(?:eval|exec)\(|parse_expr\(|sympify\(")
_FUNCTIONS = {"sin", "cos", "tan", "exp", "log", "sqrt", "asin", "acos", "atan", "sinh", "cosh", "tanh", "Abs"}
_PLAIN = (ast.Expression, ast.Constant, ast.List, ast.Tuple, ast.UnaryOp, ast.BinOp, ast.operator, ast.unaryop)


@dataclass(frozen=True, slots=True)
class GymTask:
    """One problem of a generator; `config` (JSON), `seed` and `index` make it again, with what its score needs."""

    id: str
    question: str
    answer: str
    dataset: str
    config: str
    index: int

    def check(self, text: str) -> float:
        """The generator's own score, in [0, 1], of what stands in the last `<answer>` tags, else in a box, after
        `####` or "the answer is", else of the last line.

        Some generators run the answer as Python to score it. Theirs is first held to numbers, lists, letters,
        arithmetic and a few functions; anything else scores 0 and is not run.
        """
        answer = answer_of(text)
        made = _made(self.dataset, self.config)
        if not answer or (runs_answers(made.__class__) and not is_harmless(answer)):
            return 0.0
        worth = float(made.score_answer(answer, made[self.index]))
        if not 0 <= worth <= 1:
            raise TaskError(f"the score is {worth}", where={"task": self.id}, fix="report it to reasoning-gym")
        return worth

    @property
    def answer_form(self) -> str:
        return "End with the answer alone between tags: <answer>answer</answer>"

    def answer_in(self, text: str) -> str | None:
        return answer_of(text) or None

    def form(self, text: str) -> float:
        """1 where an answer stands between the tags, else 0."""
        return float(bool(_TAGGED.search(text)))


def answer_of(text: str) -> str:
    """The part of a text that is its answer.

    >>> answer_of("I think <answer> 7 </answer>."), answer_of("#### 7"), answer_of("7 or\\nrather 8")
    ('7', '7', 'rather 8')
    """
    tagged = _TAGGED.findall(text)
    if tagged:
        return str(tagged[-1]).strip()
    found = extract(text, ("boxed", "hashes", "stated"))
    lines = text.strip().splitlines()
    return found.answer if found else lines[-1].strip() if lines else ""


def is_harmless(answer: str) -> bool:
    """Whether running `answer` as an expression can do no more than arithmetic of moderate size.

    >>> [is_harmless(text) for text in ("3*x**2 + sin(x)", "['A', 'B']", "1 2 3", "open('f')", "x.y()", "9**9**9")]
    [True, True, True, False, False, False]
    """
    if len(answer) > 2_000 or "__" in answer:
        return False
    try:
        tree = ast.parse(answer.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return not re.search(r"[(\[{.]\s*[A-Za-z_]|[A-Za-z_]\s*[(\[.]|\*\*|\^|!|:|@|=|lambda", answer)
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return all(_is_plain(node, called) for node in ast.walk(tree))


def _is_plain(node: ast.AST, called: set[int]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in _FUNCTIONS or id(node) not in called
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and not node.keywords and len(node.args) == 1
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Pow, ast.LShift, ast.BitXor)):
        power = node.right.operand if isinstance(node.right, ast.UnaryOp) else node.right
        small = isinstance(power, ast.Constant) and isinstance(power.value, (int, float)) and power.value <= 100
        return (small or isinstance(power, ast.Name)) and not any(
            isinstance(below, ast.BinOp) and isinstance(below.op, (ast.Pow, ast.LShift))
            for below in ast.walk(node.left)
        )
    return isinstance(node, (*_PLAIN, ast.Load))


@lru_cache(maxsize=64)
def runs_answers(kind: Hashable) -> bool:
    """Whether a generator's score runs text as Python, by its source or that of the methods of its own class."""
    own = [member for name, member in vars(kind).items() if inspect.isfunction(member) and name != "__getitem__"]
    return any(_EVALUATES.search(inspect.getsource(member)) for member in own if member.__name__ != "__init__")


@lru_cache(maxsize=32)
def _made(dataset: str, config: str) -> Any:
    gym = extra("reasoning_gym", "reasoning-gym", "gym")
    return gym.create_dataset(dataset, **json.loads(config))


class ReasoningGym:
    """The generator `dataset` as a task set; `config` holds its own settings (`size` and `seed` apart).

    Indices of the generator are parted: the first `held_out` make the split test, the next validation, then `num_train`
    train. A question that an earlier one of these splits has is drawn anew, so that none stands in two.

    Raises `ConfigError` for an unknown generator or setting and without reasoning-gym, `TaskError` where a generator is
    too small to give so many different questions.
    """

    splits = SPLITS

    def __init__(
        self,
        dataset: str,
        *,
        seed: int = 0,
        num_train: int = 10_000,
        held_out: int = 200,
        name: str = "",
        **config: Any,
    ) -> None:
        self.name, self._dataset, self._held_out, self._num_train = (
            name or f"reasoning_gym:{dataset}",
            dataset,
            held_out,
            num_train,
        )
        where: dict[str, object] = {"task_set": self.name}
        extra("reasoning_gym", "reasoning-gym", "gym")
        factory = extra("reasoning_gym.factory", "reasoning-gym", "gym")
        if dataset not in factory.DATASETS:
            raise ConfigError(f"no generator {dataset!r}", where=where, fix=near(dataset, factory.DATASETS))
        known = [field.name for field in dataclasses.fields(factory.DATASETS[dataset][1])]
        for key in config:
            if key not in known or key in ("seed", "size"):
                raise ConfigError(f"unknown setting {key!r}", where=where, fix=near(key, known))
        if held_out < 1 or num_train < 1:
            raise ConfigError("'held_out' and 'num_train' must be above 0", where=where, fix="leave the defaults")
        self._stride = num_train + 2 * held_out
        whole = {**config, "seed": seed, "size": self._stride * (MAX_REDRAWS + 1)}
        self._config = json.dumps(whole, sort_keys=True)
        try:
            _made(dataset, self._config)
        except (ValueError, TypeError, AssertionError) as error:
            raise ConfigError(
                f"the generator refuses its settings: {error}", where=where, fix="see its docs"
            ) from error
        self._seen: dict[str, frozenset[str]] = {}

    def size(self, split: str) -> int | None:
        return self._num_train if split == "train" else self._held_out

    def task(self, split: str, index: int) -> GymTask:
        where: dict[str, object] = {"task_set": self.name, "split": split}
        if split not in self.splits:
            raise TaskError(f"no split {split!r}", where=where, fix=f"use one of {', '.join(self.splits)}")
        if not 0 <= index < (self.size(split) or 0):
            raise TaskError(f"no task {index}", where=where, fix=f"use an index below {self.size(split)}")
        start = {"test": 0, "validation": self._held_out, "train": 2 * self._held_out}[split]
        taken = frozenset[str]()
        for earlier in {"test": (), "validation": ("test",), "train": ("test", "validation")}[split]:
            taken |= self._questions(earlier)
        made = _made(self._dataset, self._config)
        for redraw in range(MAX_REDRAWS + 1):
            place = start + index + redraw * self._stride
            entry = made[place]
            if entry["question"] not in taken:
                task_id = f"{self._dataset}-{split}-{index}"
                return GymTask(task_id, entry["question"], str(entry["answer"]), self._dataset, self._config, place)
        fix = "make the generator's problems larger, or held_out smaller"
        raise TaskError("the generator has too few different questions", where=where, fix=fix)

    def _questions(self, split: str) -> frozenset[str]:
        if split not in self._seen:
            self._seen[split] = frozenset(self.task(split, index).question for index in range(self._held_out))
        return self._seen[split]
