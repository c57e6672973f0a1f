"""Where in a text the answer stands."""

from __future__ import annotations

import re
from typing import NamedTuple

from motet.tasks.answers.latex import closing

FORMS = ("boxed", "hashes", "stated", "last_number")
"""The forms that are looked for, in this order."""

_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?=\{|\d)")
_BETWEEN = re.compile(r"[\s$.,;]*(?:\\text\s*\{)?\s*(?:and|or)?\s*\}?[\s$.,;]*")
_STATED = re.compile(r"(?i)\banswer\s*(?:is\s*:?|[:=])[\s*]*([^\n]+)")
_LAST_NUMBER = re.compile(
    r"(?<![\w.)\]}])-?(?:\\\$|\$)?\s?(?:\\[dt]?frac\{\d+\}\{\d+\}"
    r"|(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:\s?/\s?\d+)?|\.\d+)(?:\s?\\?%)?"
    r"|(?<=\w)(?:\d+)(?:\.\d+)?"
)


class Found(NamedTuple):
    """An answer and the form it stood in."""

    form: str
    answer: str


def extract(text: str, forms: tuple[str, ...] = FORMS) -> Found | None:
    r"""The answer of `text` in the first of `forms` that it has; None without any.

    `boxed`        what the last `\boxed{...}` holds; boxes with nothing but commas, `and` or `or` between are one list
    `hashes`       the rest of the line after the last `####`
    `stated`       the rest of the line after the last "answer is" or "Answer:"
    `last_number`  the last number, with its fraction bar or percent sign

    >>> extract(r"So $x=2$, thus \boxed{\frac{1}{2}}.")
    Found(form='boxed', answer='\\frac{1}{2}')
    >>> extract("7 - 2 = 5\n#### 5"), extract("The answer is 5.").answer, extract("so 3/4 of 1,200 is 900")
    (Found(form='hashes', answer='5'), '5', Found(form='last_number', answer='900'))
    >>> extract("no idea") is None
    True
    """
    for form in forms:
        answer = _FINDERS[form](text)
        if answer is not None:
            return Found(form, answer)
    return None


def _boxed(text: str) -> str | None:
    boxes = [(found.start(), *_content(text, found.end())) for found in _BOX.finditer(text)]
    if not boxes:
        return None
    kept = [boxes[-1]]
    for box in reversed(boxes[:-1]):
        if box[2] > kept[-1][0] or not _BETWEEN.fullmatch(text[box[2] : kept[-1][0]]):
            break
        kept.append(box)
    return ", ".join(box[1] for box in reversed(kept)).strip()


def _content(text: str, at: int) -> tuple[str, int]:
    if text[at] == "{":
        end = closing(text, at)
        return text[at + 1 : end], min(end + 1, len(text))
    return text[at], at + 1


def _hashes(text: str) -> str | None:
    _, mark, tail = text.rpartition("####")
    lines = tail.strip().splitlines()
    return lines[0].strip() if mark and lines else None


def _stated(text: str) -> str | None:
    found = _STATED.findall(text)
    return found[-1].strip(" *").removesuffix(".") if found else None


def _last_number(text: str) -> str | None:
    found = _LAST_NUMBER.findall(text)
    return found[-1].strip() if found else None


_FINDERS = {"boxed": _boxed, "hashes": _hashes, "stated": _stated, "last_number": _last_number}
