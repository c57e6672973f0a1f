"""What kind of thing an answer is: one value, a list, a tuple or interval, a union, a matrix, a relation."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from motet.tasks.answers.exact import rational
from motet.tasks.answers.latex import bare

MAX_ITEMS = 100

_OPEN, _CLOSE = "([{", ")]}"
_THOUSANDS = re.compile(
    r"[-+]?(?:\\?\$)? ?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?: ?%| ?\\text\{.*\}| ?\^\\circ)?(?: [A-Za-z ]+)?"
)
_NAME = re.compile(
    r"[A-Za-z\\][A-Za-z\\'_{}, ]*\d*\}?(?:\(\s*[A-Za-z](?:, ?[A-Za-z])*\s*\))?|\([A-Za-z](?:, ?[A-Za-z])+\)"
)
_RELATION = re.compile(r"\\(?:le|ge|neq)(?![A-Za-z])|[<>]")
_MATRIX = re.compile(r"\\begin\{([pbvBV]?matrix|array)\}(?:\{[lcr| ]*\})?(.*)\\end\{\1\}")
_FLIPPED = {r"\le": r"\ge", r"\ge": r"\le", "<": ">", ">": "<", r"\neq": r"\neq"}
_CHOICE = re.compile(r"\(?\\text\{ ?\(?([A-Za-z])\)? ?\}\)?|\(([A-Z])\)")


@dataclass(frozen=True, slots=True)
class Shape:
    r"""One answer.

    `kind` is `value` (a number or expression), `text`, `list` (any order, braces or none), `tuple` (brackets in
    `mark`), `union`, `matrix` (cells in `items`, `mark` the number of columns), `relation` (`mark` the sign, `name` its
    left), `equation` (two items: its sides), `based` (`mark` the base). `name` is what stood left of `=` or `\in`.
    """

    kind: str
    text: str = ""
    items: tuple[Shape, ...] = field(default=())
    mark: str = ""
    name: str = ""


def shape(text: str, many: bool = False) -> Shape:
    r"""The shape of a tidy text. `many` says that a comma between digits separates answers, not thousands.

    >>> shape("1,234").kind, shape("1,234", many=True).kind, shape("(3,4]").mark, shape(r"x \in [-2,7]").name
    ('value', 'list', '(]', 'x')
    >>> [item.text for item in shape(r"1 \pm \sqrt{19}").items]
    ['1 + \\sqrt{19}', '1 - \\sqrt{19}']
    """
    text = text.strip()
    if not many and _THOUSANDS.fullmatch(text):
        return Shape("value", text)
    parts = _listed(text)
    if len(parts) > 1:
        return Shape("list", text, _flat(tuple(shape(part, True) for part in parts[:MAX_ITEMS])))
    return _single(parts[0] if parts else text, many)


def _single(text: str, many: bool) -> Shape:
    sides = split(text, r"\\in(?![A-Za-z])|(?<![<>\\!])=")
    if len(sides) == 2 and _is_name(sides[0]) and sides[1].strip():
        inner = shape(sides[1], many)
        return Shape(inner.kind, inner.text, inner.items, inner.mark, inner.name or _name(sides[0]))
    if len(sides) > 2 and _is_name(sides[0]):
        return _single(f"{sides[0]}={sides[-1]}", many)
    if len(sides) == 2 and all(side.strip() for side in sides):
        return Shape("equation", text, (Shape("value", sides[0].strip()), Shape("value", sides[1].strip())))
    if related := _related(text):
        return related
    if choice := _CHOICE.fullmatch(text):
        return Shape("text", choice.group(1) or choice.group(2))
    return _bracketed(text) or _value(text)


def _bracketed(text: str) -> Shape | None:
    unions = split(text, r"\\cup(?![A-Za-z])")
    if len(unions) > 1:
        return Shape("union", text, tuple(shape(part) for part in unions))
    if matrix := _MATRIX.fullmatch(text):
        rows = [row.split("&") for row in re.split(r"\\\\(?:\[[^\]]*\])?", matrix.group(2)) if row.strip()]
        flat = tuple(shape(cell) for row in rows for cell in row)
        kind = "|" if matrix.group(1)[0] in "vV" else ""
        return Shape("matrix", text, flat, f"{kind}{len(rows[0]) if rows else 0}")
    if text.startswith(r"\{") and text.endswith(r"\}") and r"\{" not in text[2:]:
        inner = shape(text[2:-2].strip(), many=True)
        return inner if inner.kind == "list" and not inner.name else Shape("list", text, (inner,))
    prefixed = re.match(r"[A-Za-z] ?(?=[(\[])", text)
    for start, name in ((0, ""), *([(prefixed.end(), prefixed.group().strip())] if prefixed else [])):
        body = text[start:]
        if len(body) > 2 and body[0] in "([" and body[-1] in ")]" and _closes_last(body):
            parts = [part.strip() for part in split(body[1:-1], ",")]
            if len(parts) > 1 and (not start or body[0] + body[-1] in ("(]", "[)", "[]")):
                items = tuple(shape(part) for part in parts[:MAX_ITEMS])
                return Shape("tuple", text, items, body[0] + body[-1], name)
    return None


def _value(text: str) -> Shape:
    if based := re.fullmatch(
        r"([0-9A-Za-z]*\d[0-9A-Za-z]*)_ ?(?:\{ ?(\d+) ?\}|(\d+)|\{? ?\\text\{ ?(\w+) ?\} ?\}?)", text
    ):
        digits, *bases = based.groups()
        return Shape("based", digits.lower(), mark=next(base for base in bases if base))
    if words := re.fullmatch(r"\\text\{([^{}]*)\}", text):
        return Shape("text", words.group(1).strip())
    if r"\pm" in text or r"\mp" in text:
        upper = text.replace(r"\pm", "+").replace(r"\mp", "-")
        lower = text.replace(r"\pm", "-").replace(r"\mp", "+")
        return Shape("list", text, (Shape("value", upper), Shape("value", lower)))
    return Shape("value", text)


def _related(text: str) -> Shape | None:
    signs = _RELATION.findall(text)
    sides = [side.strip() for side in split(text, _RELATION.pattern)]
    if len(sides) != len(signs) + 1 or not signs or not all(sides):
        return None
    if len(signs) == 1:
        left, right, sign = (sides[0], sides[1], signs[0])
        if not _is_name(left) and _is_name(right):
            left, right, sign = right, left, _FLIPPED[sign]
        if _is_name(left):
            return Shape("relation", text, (shape(right),), sign, _name(left))
        return None
    if len(signs) == 2 and _is_name(sides[1]):
        if set(signs) <= {"<", r"\le"}:
            marks = ("(" if signs[0] == "<" else "[") + (")" if signs[1] == "<" else "]")
            return Shape("tuple", text, (shape(sides[0]), shape(sides[2])), marks, _name(sides[1]))
        if set(signs) <= {">", r"\ge"}:
            marks = ("(" if signs[1] == ">" else "[") + (")" if signs[0] == ">" else "]")
            return Shape("tuple", text, (shape(sides[2]), shape(sides[0])), marks, _name(sides[1]))
    return None


def as_interval(relation: Shape) -> Shape:
    """`x > 5` as the interval it stands for; other signs as they are."""
    end, top, low = relation.items[0], Shape("value", r"\infty"), Shape("value", r"-\infty")
    marks = {">": "()", r"\ge": "[)", "<": "()", r"\le": "(]"}
    if relation.mark not in marks:
        return relation
    items = (end, top) if relation.mark in (">", r"\ge") else (low, end)
    return Shape("tuple", relation.text, items, marks[relation.mark], relation.name)


def split(text: str, pattern: str) -> list[str]:
    r"""`text` cut at every match of `pattern` outside of brackets and braces.

    >>> split("(1,2), (3,4]", ",")
    ['(1,2)', ' (3,4]']
    """
    parts, start, at, depth, cut = [], 0, 0, 0, re.compile(pattern)
    while at < len(text):
        if text[at] in _OPEN:
            depth += 1
        elif text[at] in _CLOSE:
            depth -= 1
        found = cut.match(text, at) if depth <= 0 else None
        if found and found.end() > at:
            parts.append(text[start:at])
            start = at = found.end()
        else:
            at += 1
    return [*parts, text[start:]]


def _listed(text: str) -> list[str]:
    parts = split(text, r"[,;]|\\text\{ ?(?:and|or) ?\}|(?<= )(?:and|or)(?= )")
    return [part.strip() for part in parts if part.strip()]


def _flat(items: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """Items that are two in one (a plus or minus) stand as two."""
    return tuple(
        part
        for item in items
        for part in (item.items if item.kind == "list" and not item.text.startswith(r"\{") else (item,))
    )


def _closes_last(text: str) -> bool:
    depth = 0
    for place, char in enumerate(text):
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth == 0:
            return place == len(text) - 1
    return False


def _is_name(text: str) -> bool:
    text = text.strip()
    return len(text) <= 40 and bool(_NAME.fullmatch(text)) and rational(text) is None


def _name(text: str) -> str:
    return bare(text).replace(" ", "")
