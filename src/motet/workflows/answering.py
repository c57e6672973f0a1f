"""What the workflows of tasks that can be answered have in common: transcripts, choices, and worth that comes late.

An answer is read by `act(read=partial(assess, task))`, once per candidate and off the event loop; its notes are
`{"answer", "worth", "form"}`. The workflow settles the call when the others have spoken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from motet.errors import ConfigError
from motet.tasks.answering import FORM_SHARE, own_worth, words_of
from motet.types import Message, Outcome, Reward, Spoken

Notes = Mapping[str, Any]

_BOXED_INDEX = re.compile(r"\\boxed\s*\{\s*(\d{1,6})\s*\}")
_LONE_DIGIT = re.compile(r"(?<![\w.])[1-9](?![\w]|\.\d)")


def transcript(task: Any, heard: Sequence[tuple[str, str | Spoken]], role: str) -> list[Message]:
    """The compact words of every prompt: the task, what was said and by whom, and last the role that is to speak.

        WORDS (role SAID)* role

    What was sampled stays the ids that were sampled. Raises `TaskError` for a task without compact words.
    """
    parts = [Message("user", words_of(task))]
    for name, said in heard:
        parts += [Message("user", f" {name} "), Message("assistant", said)]
    return [*parts, Message("user", f" {role} ")]


class Choice(NamedTuple):
    """An index from 0 and how well it was stated."""

    picked: int
    form: float


def read_choice(text: str, num: int) -> Choice:
    r"""Which of `num` answers a text selects: the first boxed number in range; else the first digit in range that
    stands alone; else the first answer. `form` is 1 for a boxed one and where the digit is all there is, else 0.

    >>> [read_choice(text, 3) for text in (r"\boxed{9} no, \boxed{2}", "3", "I take 2.", "10 or 2.5", "")]
    ... # doctest: +NORMALIZE_WHITESPACE
    [Choice(picked=1, form=1.0), Choice(picked=2, form=1.0), Choice(picked=1, form=0.0), Choice(picked=0, form=0.0),
     Choice(picked=0, form=0.0)]
    """
    for pattern, is_stated in ((_BOXED_INDEX, True), (_LONE_DIGIT, False)):
        for found in pattern.finditer(text):
            number = int(found.group().strip() if not is_stated else found.group(1))
            if 1 <= number <= num:
                return Choice(number - 1, float(is_stated or text.strip() == found.group()))
    return Choice(0, 0.0)


def judge_choice(worths: Sequence[float], text: str) -> Reward:
    """Whoever selects is paid by the worth of what was selected.

    team    worth of the selected answer
    local   0.2 * form + 0.8 * worth of the selected answer / the largest worth there is (0 where that is 0)

    >>> judge_choice((0.0, 1.0), "2").local, judge_choice((0.0, 1.0), "I take 1").local, judge_choice((0.0,), "1").local
    (1.0, 0.0, 0.2)
    """
    choice, best = read_choice(text, len(worths)), max(worths)
    chosen = worths[choice.picked]
    local = FORM_SHARE * choice.form + (1.0 - FORM_SHARE) * (chosen / best if best > 0 else 0.0)
    return Reward(team=chosen, local=min(1.0, local), notes={"index": choice.picked, "form": choice.form})


def majority(answers: Sequence[str | None]) -> int:
    """The index of the first of the most frequent answers; 0 where nobody answered.

    >>> majority(["7", None, "8", "8"]), majority(["7", "8"]), majority([None, None])
    (2, 0, 0)
    """
    counts = Counter(answer for answer in answers if answer is not None)
    return answers.index(max(counts, key=lambda answer: counts[answer])) if counts else 0


def notes_of(call: Any) -> list[Notes]:
    """The notes of all candidates of a call, the chosen one's among them."""
    return [candidate.reward.notes for candidate in call.record.candidates]


def settle_answers(
    call: Any,
    team: Callable[[Notes], float],
    local: Callable[[Notes], float] = own_worth,
    *,
    estimate: bool = True,
) -> None:
    """Rewards for all candidates of a call: `team` and `local` of its notes, by default 0.2 * form + 0.8 * worth.

    `estimate`: as in `settle`; False where `team` is exact.
    """
    rewards = [Reward(team=min(1.0, team(notes)), local=min(1.0, local(notes))) for notes in notes_of(call)]
    call.settle(rewards, estimate=estimate)


def settle_by_fate(call: Any, final: float, local: Callable[[Notes], float] = own_worth) -> None:
    """Settle an answer by what became of it: `final`, the worth of the answer that counted in the end.

    What followed the chosen candidate is taken to follow each candidate of the same worth. One of another worth is
    taken to be the last word: its team reward is its own worth. With one candidate per call team is `final`.
    """
    met = call.notes["worth"]
    settle_answers(call, lambda notes: final if notes["worth"] == met else notes["worth"], local)


def expected_worth(slot: int, worth: float, worths: Sequence[float], counts: Sequence[float]) -> float:
    """What the team can expect where the answer in `slot` is worth `worth` and the others are as they were.

        p_j = (counts_j + 1) / (sum of counts + N)        how likely answer j is to be taken
        p_slot * worth + sum over j != slot of p_j * worths_j

    `counts` tells how often each of the N answers was taken. The 1 is for choices that were not drawn: without it an
    answer that nobody took would earn the same whatever it was.

    >>> expected_worth(0, 1.0, (0.0, 1.0), (2, 0)), expected_worth(0, 0.0, (0.0, 1.0), (2, 0))
    (1.0, 0.25)
    """
    total = sum(counts) + len(worths)
    kept = [worth if place == slot else other for place, other in enumerate(worths)]
    return min(1.0, sum((count + 1) / total * value for count, value in zip(counts, kept)))


def settle_by_choice(call: Any, slot: int, worths: Sequence[float], counts: Sequence[float]) -> None:
    """Settle the answer in `slot` by `expected_worth`: each candidate in place of the chosen one."""
    settle_answers(call, lambda notes: expected_worth(slot, notes["worth"], worths, counts))


def times_chosen(call: Any, num: int) -> list[float]:
    """How many candidates of a call that selects took each of `num` answers."""
    taken = Counter(read_choice(candidate.text, num).picked for candidate in call.record.candidates)
    return [float(taken[index]) for index in range(num)]


def outcome(worth: float, **metrics: float) -> Outcome:
    """The episode's result: success is worth 1."""
    return Outcome(worth == 1.0, worth, metrics)


def check_count(workflow: str, name: str, value: int, least: int, most: int = 100) -> None:
    """Refuse a count outside [least, most].

    >>> check_count("voting", "voters", 0, 2)
    Traceback (most recent call last):
    motet.errors.ConfigError: voters is 0 [workflow=voting]. To fix it: set voters between 2 and 100
    """
    if not least <= value <= most:
        fix = f"set {name} between {least} and {most}"
        raise ConfigError(f"{name} is {value}", where={"workflow": workflow}, fix=fix)
