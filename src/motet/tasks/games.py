"""Games: tasks that are played move by move, and what a workflow needs to know of them.

    task.start() -> Position         a value: `after` gives a new one and leaves the old
    position.show(dialect)           the pieces that a prompt is put together from
    position.read(text) -> moves     what an answer says, never an exception
    position.judge(text) -> Reward   the worth of one candidate, with the moves as its notes
    position.after(moves)            where the game stands then

A workflow words the roles, a game words itself; neither knows the other by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from motet.errors import TaskError
from motet.types import Reward

Dialect = Literal["chat", "compact"]

Part = Literal["plan", "move"]
"""What a role does with its moves: `plan` proposes them to others, `move` makes them."""

BLANK = "_"
"""Stands in the compact dialect where a word is missing, so that every prompt of a role has the same length."""

MAX_NUMBER = 63
"""The compact dialect has words `n0` to `n63`; a larger budget is shown as `n63`."""


class Moves(Protocol):
    """What an answer says: `steps` in order, and in `failure` what was wrong with it, or None.

    Two of equal content are equal; without a step, `after` leaves the game where it is.
    """

    @property
    def steps(self) -> tuple[Any, ...]: ...
    @property
    def failure(self) -> str | None: ...


@dataclass(frozen=True, slots=True)
class Shown:
    """The pieces of a prompt, in one dialect. Nothing in them is computed by a search, and none holds an answer.

    | piece | compact | chat |
    |---|---|---|
    | `stable` | words that stay the same over an episode | the rules |
    | `now` | how the last answer went, what is left of the budget, what has changed | board, facts and budget |
    | `here` | what the answer goes on from; stands last | "" |
    | `answer_form` | "" | how an answer must look |
    | `list_form` | "" | how the list in it must look, for a program that prints it |
    | `board`, `does`, `aim` | "" | "the grid"; "makes the walk"; "towards the goal": completes "make the next moves" |

    >>> Shown("g35 x03", "none n12", "c00").answer_form
    ''
    """

    stable: str
    now: str
    here: str = ""
    answer_form: str = ""
    list_form: str = ""
    board: str = ""
    does: str = ""
    aim: str = ""


@runtime_checkable
class Position(Protocol):
    """Where a game stands: an immutable, hashable value."""

    @property
    def is_over(self) -> bool:
        """Nothing more can be done: it is won, or the budget is spent."""

    @property
    def at_goal(self) -> bool:
        """Won. Reaching a limit is not winning."""

    @property
    def progress(self) -> float:
        """The outcome of an episode that ends here, in [0, 1]; 1 exactly at the goal."""

    @property
    def num_moves(self) -> int:
        """What was spent of the budget so far, illegal moves counted."""

    def after(self, moves: Any) -> Position:
        """The position after `moves` were made, as far as they are legal and the budget lasts."""

    def read(self, text: str) -> Any:
        """The `Moves` of an answer, in either dialect. Never raises, never runs anything."""

    def judge(
        self, text: str, *, part: Part = "move", view: str = "full", plan: Any = None, follow: float = 0.0
    ) -> Reward:
        """Team and local of one candidate; notes are its moves, or None where it holds none.

        `plan`: the moves that were proposed to this role. `follow` in [0, 1]: the weight of making those in the local
        reward.
        """

    def show(self, dialect: Dialect, *, part: Part = "move", view: str = "full") -> Shown:
        """What a role that does `part` sees of it."""

    def draw(self) -> str:
        """A picture in letters, one line per row, for people."""

    def tell(self, moves: Any, dialect: Dialect) -> str:
        """`moves` as they were said, for another role to read: in compact always as many words, in chat what completes
        "proposes ...".
        """


@runtime_checkable
class Game(Protocol):
    """A task that is played. `views` names what roles may be shown: "full" is all, others are the game's own."""

    @property
    def id(self) -> str: ...
    @property
    def max_turns(self) -> int: ...
    @property
    def views(self) -> tuple[str, ...]: ...
    def start(self) -> Any:
        """The `Position` before the first move."""


def number_word(number: int) -> str:
    """The compact word of a number.

    >>> number_word(7), number_word(200)
    ('n7', 'n63')
    """
    return f"n{max(0, min(number, MAX_NUMBER))}"


def check_place(task_set: Any, split: str, index: int) -> None:
    """Raise `TaskError` for a split or an index that a set with endless or counted splits does not have."""
    if split not in task_set.splits:
        known = ", ".join(task_set.splits)
        raise TaskError(f"no split {split!r}", where={"task_set": task_set.name}, fix=f"one of {known}")
    limit = task_set.size(split)
    if index < 0 or (limit is not None and index >= limit):
        where: dict[str, object] = {"task_set": task_set.name, "split": split}
        raise TaskError(f"no task {index}", where=where, fix=f"0 <= index < {limit or 'any'}")
