"""Reads the answer out of a text and compares it with the right one.

    text -> extract -> tidy -> shape (list, tuple, interval, ...) -> exact numbers, else algebra in a worker

>>> is_right(r"Half of it: \\boxed{\\dfrac{1}{2}}", "0.5"), is_right("#### 3", "0.5"), is_right("no idea", "0.5")
(True, False, False)
"""

from __future__ import annotations

from motet.tasks.answers.equal import PLAIN, Rules, same_answer
from motet.tasks.answers.extract import FORMS, Found, extract


def is_right(text: str, gold: str, rules: Rules = PLAIN, forms: tuple[str, ...] = FORMS) -> bool:
    """Whether the answer that `text` gives is `gold`. Without an answer in one of `forms` it is not."""
    found = extract(text, forms)
    return found is not None and same_answer(found.answer, gold, rules)


__all__ = ["FORMS", "Found", "PLAIN", "Rules", "extract", "is_right", "same_answer"]
