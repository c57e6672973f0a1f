"""What a task that can be answered tells of its own words, and what stands in for what it does not tell.

question, check(text)     every `Answerable` has them
answer_form               how an answer must look, one sentence          default: a last line after ####
words                     the problem in the words of the tiny models    default: none, "compact" readers are refused
answer_in(text)           the answer itself, as answers are compared     default: boxed, after ####, or the last line
form(text)                1 where the answer looks as `answer_form` asks default: 1 where there is an answer
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from motet.errors import TaskError
from motet.tasks.answers.extract import extract
from motet.types import Reward

ANSWER_FORM = "End with one line: four hash marks and the answer alone, for example #### 7"
BOXED_FORM = r"End with the answer in a box: \boxed{answer}"
FORM_SHARE = 0.2
"""The share of the form in the worth of an answer as one's own job; the rest is whether it is right."""


def answer_form(task: Any) -> str:
    """How an answer must look, one sentence for a model that reads prose."""
    return str(getattr(task, "answer_form", "") or ANSWER_FORM)


def words_of(task: Any) -> str:
    """The problem in the words of the tiny models. Raises `TaskError` for a task without any.

    >>> from motet.tasks.jsonl import Question
    >>> words_of(Question("q-1", "2 + 2?", "4"))
    Traceback (most recent call last):
    motet.errors.TaskError: no compact words for Question [task=q-1]. To fix it: use a model with a chat template, \
or give the task `words`
    """
    words = str(getattr(task, "words", "") or "")
    if not words:
        fix = "use a model with a chat template, or give the task `words`"
        raise TaskError(f"no compact words for {type(task).__name__}", where={"task": task.id}, fix=fix)
    return words


def answer_in(task: Any, text: str) -> str | None:
    r"""The answer that stands in `text`, as answers are compared with one another; None where there is none.

    >>> from motet.tasks.jsonl import Question
    >>> [answer_in(Question("q", "?", "4"), text) for text in ("so\n#### 4.0", "no\nRome.", " ")]
    ['4', 'rome', None]
    >>> answer_in(object(), r"It is \boxed{ 7 }."), answer_in(object(), "a\nb")
    ('7', 'b')
    """
    own = getattr(task, "answer_in", None)
    if own is not None:
        found = own(text)
        return None if found is None else str(found)
    stated = extract(text, ("boxed", "hashes", "stated"))
    lines = text.strip().splitlines()
    answer = stated.answer.strip() if stated else lines[-1].strip() if lines else ""
    return answer or None


def form_of(task: Any, text: str) -> float:
    """How far the answer looks as `answer_form` asks, in [0, 1]."""
    own = getattr(task, "form", None)
    return float(own(text)) if own is not None else float(answer_in(task, text) is not None)


def assess(task: Any, text: str) -> dict[str, Any]:
    """All that is to be known of one answer, as JSON: `answer` (or None), `worth` and `form`, both in [0, 1].

    For `act(read=partial(assess, task))`: it runs off the event loop, once for each candidate, and what the
    workflow settles later reads it from the notes.

    >>> from motet.tasks.jsonl import Question
    >>> assess(Question("q", "2 + 2?", "4"), "#### 4")
    {'answer': '4', 'worth': 1.0, 'form': 1.0}
    """
    return {"answer": answer_in(task, text), "worth": float(task.check(text)), "form": form_of(task, text)}


def own_worth(notes: Mapping[str, Any]) -> float:
    """An answer as a role's own job: 0.2 * form + 0.8 * worth.

    >>> own_worth({"answer": "4", "worth": 1.0, "form": 0.5})
    0.9
    """
    return FORM_SHARE * float(notes["form"]) + (1.0 - FORM_SHARE) * float(notes["worth"])


def answer_reward(notes: dict[str, Any]) -> Reward:
    """The reward of an answer that counts as it stands: team is its worth, local `own_worth`.

    For `act(read=partial(assess, task), score=answer_reward)`.

    >>> answer_reward({"answer": "4", "worth": 1.0, "form": 0.0}).local
    0.8
    """
    return Reward(team=notes["worth"], local=own_worth(notes))
