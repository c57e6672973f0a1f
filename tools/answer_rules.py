"""The rules by which `measure_answers.py` rewrites a right answer, and by which it misses it narrowly.

Each rule is plain text surgery on the right answer of the data set. None uses the reader of the checker: numbers are
read by `fractions` and regular expressions of its own. A rule that does not apply to an answer gives nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Protocol

Made = Iterator[tuple[str, str]]


class Answered(Protocol):
    @property
    def question(self) -> str: ...
    @property
    def answer(self) -> str: ...
    @property
    def many(self) -> bool: ...
    @property
    def unit(self) -> str: ...


NUMBER = re.compile(r"-?\d+(\.\d+)?|-?\.\d+")
SIMPLE = re.compile(r"(-?)\\[dt]?frac\{(\d+)\}\{(\d+)\}")
OTHER_UNIT = {
    "^\\circ": "\\text{ radians}", "^{\\circ}": "\\text{ radians}", "\\text{ degrees}": "\\text{ radians}",
    "\\text{ cents}": "\\text{ dollars}", "\\mbox{ cm}^2": "\\mbox{ cm}^3", "\\mbox{ inches}^2": "\\mbox{ feet}^2",
}  # fmt: skip
STATED_UNIT = {
    "minute": "seconds", "minutes": "hours", "min": "hours", "km": "miles", "$cm^2$": "cm^3", "km/h": "mph",
}  # fmt: skip


def gold(task: Answered) -> str:
    """The answer without the dollar signs that quote mathematics."""
    return re.sub(r"(?<!\\)\$", "", task.answer).strip().rstrip(".")


def number(text: str) -> Fraction | None:
    """A whole number, decimal or simple fraction, with commas between thousands; None for all else."""
    text = re.sub(r"(?<=\d)(,\\! ?|,(?=\d{3}(\D|$)))", "", text)
    if NUMBER.fullmatch(text):
        return Fraction(text)
    if found := SIMPLE.fullmatch(text):
        return Fraction(int(found[1] + found[2]), int(found[3]))
    return None


def decimal(value: Fraction) -> str | None:
    """The finite decimal of `value`, or None."""
    for places in range(12):
        if (value * 10**places).denominator == 1:
            digits = f"{abs(int(value * 10**places)):0{places + 1}d}"
            body = digits if not places else f"{digits[:-places]}.{digits[-places:]}"
            return ("-" if value < 0 else "") + body
    return None


def is_single(task: Answered) -> bool:
    """One value: no list, no tuple, no words."""
    text = gold(task)
    return not task.many and not re.search(r"[,=\[\]&<>%]|\\(text|mbox|in|cup|pm|ge|le|begin|\$|geqslant)|_", text)


def items(text: str) -> list[str]:
    """`text` cut at the commas that stand outside brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([{") - (char in ")]}")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def inside(text: str) -> tuple[str, list[str], str] | None:
    """(bracket, items, bracket) of one tuple or interval."""
    bare = text.replace(r"\left", "").replace(r"\right", "").strip()
    if len(bare) > 2 and bare[0] in "([" and bare[-1] in ")]" and len(items(bare)) == 1:
        parts = items(bare[1:-1])
        if len(parts) > 1:
            return bare[0], parts, bare[-1]
    return None


def boxed(text: str) -> str:
    return rf"\boxed{{{text}}}"


def rewrites(task: Answered) -> Made:
    """(rule, text) for texts that give the right answer in another form."""
    text = gold(task)
    yield "A01 boxed", "So the answer follows.\n\n" + rf"\[\boxed{{{text}}}\]"
    yield "A02 box with spaces", f"${boxed(f'  {text} ')}$."
    yield "A03 box in box of style", boxed(rf"\displaystyle {text}")
    yield "A04 hashes", f"First 3, then 17.\n#### {text}"
    yield "A05 stated", f"Therefore, the answer is ${text}$."
    yield "A06 dollars in the box", boxed(f"${text}$")
    yield "A07 full stop in the box", boxed(f"{text}.")
    if "frac" in text:
        plain = re.sub(r"\\[dt]frac", r"\\frac", text)
        yield "A08 dfrac", boxed(plain.replace(r"\frac", r"\dfrac"))
        yield "A09 tfrac", boxed(plain.replace(r"\frac", r"\tfrac"))
        if SIMPLE.search(plain):
            yield "A10 slash", boxed(re.sub(r"(?<![\d}])\\frac\{(\d+)\}\{(\d+)\}(?![\d{(\\A-Za-z^ ])", r"\1/\2", plain))
    if "-" in text:
        yield "A11 minus sign", boxed(text.replace("-", "\u2212"))
    if "(" in text and r"\left" not in text and r"\begin" not in text:
        yield "A12 left right", boxed(re.sub(r"([(\[])", r"\\left\1", re.sub(r"([)\]])", r"\\right\1", text)))
    yield from _numbers(task, text)
    yield from _structures(task, text)
    yield from _words(task, text)


def _numbers(task: Answered, text: str) -> Made:
    value = number(text)
    if value is not None and not task.many:
        whole = value.denominator == 1
        yield "A13 unreduced", boxed(rf"\frac{{{value.numerator * 3}}}{{{value.denominator * 3}}}")
        if (exact := decimal(value)) is not None:
            yield "A14 decimal", boxed(exact if not whole else f"{exact}.0")
        if whole and abs(value) >= 1000:
            plain = f"{abs(int(value)):,}"
            for separator in (",", "{,}", r",\!"):
                yield "A15 thousands", boxed(("-" if value < 0 else "") + plain.replace(",", separator))
            yield "A15 thousands", boxed(str(int(value)))
        if whole and not task.unit and value >= 0:
            yield "A16 unit kept", boxed(rf"{text}\text{{ apples}}")
            yield "A16 unit kept", f"#### {text} apples"
        yield "A17 last number", f"Out of 12 we keep {decimal(value) or f'{value.numerator}/{value.denominator}'}."
        if re.search(r"(?i)\bpercent", task.question):
            yield "A18 percent sign", boxed(rf"{text}\%")
        elif (exact := decimal(value * 100)) is not None and not whole and task.unit != "%":
            yield "A18 percent sign", boxed(rf"{exact}\%")
    if is_single(task) and value is None:
        yield "A19 times two by two", boxed(rf"\frac{{2\left({text}\right)}}{{2}}")
        yield "A20 minus of minus", boxed(rf"-\left(-\left({text}\right)\right)")
        yield "A37 root of two above and below", boxed(rf"\frac{{\left({text}\right)\sqrt{{2}}}}{{\sqrt{{2}}}}")
    if re.search(r"\\sqrt\{\w+\}", text):
        yield "A38 root as a power", boxed(re.sub(r"\\sqrt\{(\w+)\}", r"{\1}^{1/2}", text))
        yield "A39 root in plain text", boxed(re.sub(r"\\sqrt\{(\w+)\}", r"sqrt(\1)", text))
    if re.search(r"\d ?\\(sqrt|pi)", text):
        yield "A40 product with a dot", boxed(re.sub(r"(\d) ?\\(sqrt|pi)", r"\1 \\cdot \\\2", text))
    if r"\pi" in text:
        yield "A41 pi as a letter", boxed(text.replace(r"\pi", "\u03c0"))
    if found := re.fullmatch(r"([^+(){}=\\-]+) ?\+ ?([^+(){}=-]+)", text):
        yield "A21 terms swapped", boxed(f"{found[2]} + {found[1]}")


def _structures(task: Answered, text: str) -> Made:
    parts = items(text)
    if task.many and len(parts) > 1:
        if not re.search(r"[=<>]", parts[0]) or "=" in parts[1]:
            yield "A22 list reversed", boxed(", ".join(reversed(parts)))
        yield "A23 list with and", boxed(rf"{', '.join(parts[:-1])} \text{{ and }} {parts[-1]}")
        if "=" not in text:
            yield "A24 list in braces", boxed(rf"\{{{','.join(parts)}\}}")
        yield "A25 one box each", " and ".join(f"${boxed(part)}$" for part in parts)
    if is_single(task) and not re.search(r"[A-Za-z]", re.sub(r"\\[A-Za-z]+", "", text)):
        yield "A26 name added", boxed(f"x = {text}")
    if (found := re.fullmatch(r"([A-Za-z](?:\([a-z]\))?) ?= ?([^=]+)", text)) and not task.many:
        yield "A27 name left out", boxed(found[2])
    if found := re.fullmatch(r"x \\in (\S+)", text):
        yield "A27 name left out", boxed(found[1])
    if tuple_of := inside(text):
        left, parts, right = tuple_of
        yield "A28 tuple spaced", boxed(f"{left} {' , '.join(parts)} {right}")
    if "pmatrix" in text:
        yield "A29 brackets of a matrix", boxed(text.replace("pmatrix", "bmatrix"))


def _words(task: Answered, text: str) -> Made:
    if found := re.fullmatch(r"\\text\{\(?(\w+)\)?\}", text):
        yield "A30 bare word", boxed(found[1])
        yield "A31 bold word", boxed(rf"\textbf{{{found[1]}}}")
    for unit in OTHER_UNIT:
        if text.endswith(unit) and len(items(text)) == 1 and not task.many:
            yield "A32 unit left out", boxed(text.removesuffix(unit))
            if "circ" in unit:
                yield "A33 degrees as a word", boxed(text.removesuffix(unit) + r" \text{ degrees}")
    if text.startswith(r"\$"):
        yield "A32 unit left out", boxed(text.removeprefix(r"\$"))
    if task.unit in STATED_UNIT:
        yield "A34 unit of its key", boxed(rf"{text} \text{{ {task.unit.replace('$', '')}}}")
    if task.unit == "%":
        yield "A34 unit of its key", boxed(rf"{text}\%")
    if (found := re.fullmatch(r"([\d.]+) ?\\?%", text)) and (exact := decimal(Fraction(found[1]) / 100)):
        yield "A35 percent as decimal", boxed(exact)
    if found := re.fullmatch(r"(\d+)_\{?(\d)\}?", text):
        yield "A36 base in braces", boxed(f"{found[1]}_{{{found[2]}}}")


def near_misses(task: Answered) -> Made:
    """(rule, text) for texts whose answer is another one."""
    text = gold(task)
    value = number(text)
    if value is not None and not task.many:
        yield from _other_numbers(task, value)
    elif is_single(task):
        yield "N01 plus one", boxed(rf"{text} + 1")
        if text != "0":
            yield "N02 minus", boxed(rf"-\left({text}\right)")
            yield "N03 times ten", boxed(rf"10\left({text}\right)")
    yield from _other_digits(text)
    if (found := re.search(r"(?<=[\w})]) ?([+-]) ?(?=[\w\\(])", text)) and (task.many or value is None):
        other = "-" if found[1] == "+" else "+"
        if "^{" not in text[: found.start()][-4:] and "_" not in text:
            yield "N21 one sign", boxed(text[: found.start()] + f" {other} " + text[found.end() :])
    if value is None and (found := re.search(r"\\frac\{([^{}]+)\}\{([^{}]+)\}", text)) and found[1] != found[2]:
        yield "N22 fraction upside down", boxed(text.replace(found[0], rf"\frac{{{found[2]}}}{{{found[1]}}}", 1))
    yield from _other_structures(task, text)
    yield from _other_words(task, text)


def _other_numbers(task: Answered, value: Fraction) -> Made:
    def shown(other: Fraction) -> str:
        sign = "-" if other < 0 else ""
        top = abs(other.numerator)
        return f"{sign}{top}" if other.denominator == 1 else rf"{sign}\frac{{{top}}}{{{other.denominator}}}"

    yield "N01 plus one", boxed(shown(value + 1))
    yield "N01 plus one", f"#### {shown(value - 1)}"
    if value:
        yield "N02 minus", boxed(shown(-value))
        yield "N03 times ten", boxed(shown(value * 10))
        yield "N03 times ten", boxed(shown(value / 10))
        yield "N04 upside down", boxed(shown(1 / value if abs(value) != 1 else value + 2))
    if decimal(value) is None:
        yield "N05 rounded", boxed(f"{float(value):.6f}")
    yield "N06 a little more", boxed(rf"{shown(value)} + 10^{{-9}}")
    if value.denominator == 1 and not re.search(r"(?i)\bpercent", task.question) and task.unit != "%" and value:
        yield "N07 percent added", boxed(rf"{shown(value)}\%")


def _other_digits(text: str) -> Made:
    places = [found.start() for found in re.finditer(r"\d", text)]
    for place in dict.fromkeys(places[:1] + places[-1:]):
        other = str((int(text[place]) + 1) % 10)
        changed = text[:place] + other + text[place + 1 :]
        yield "N08 one digit", boxed(changed)


def _other_structures(task: Answered, text: str) -> Made:
    parts = items(text)
    if task.many and len(parts) > 1:
        yield "N09 one left out", boxed(", ".join(parts[:-1]))
        yield "N10 one too many", boxed(", ".join([*parts, "987654"]))
        if len(set(parts)) == len(parts) and not re.search(r"[=<>]", text):
            yield "N11 one twice", boxed(", ".join([parts[1], *parts[1:]]))
    for part in parts if task.many or len(parts) == 1 else []:
        if (tuple_of := inside(part)) and tuple_of[1][0] != tuple_of[1][1]:
            left, inner, right = tuple_of
            swapped = left + ", ".join([inner[1], inner[0], *inner[2:]]) + right
            others = [other for other in parts if other != part]
            if not any(re.sub(r"\s", "", other) == re.sub(r"\s", "", swapped) for other in others):
                yield "N12 swapped tuple", boxed(", ".join([swapped, *others]))
            if {left, right} != {"(", ")"} or "infty" in part:
                yield "N13 other bracket", boxed(("(" if left == "[" else "[") + ", ".join(inner) + right)
            break
    if r"\cup" in text:
        yield "N14 part of a union", boxed(text.partition(r"\cup")[0])
    if r"\pm" in text:
        yield "N15 only plus", boxed(text.replace(r"\pm", "+"))
    if r"\\" in text:
        head, _, tail = text.partition("} ")
        cells = tail.partition(r" \end")[0].split(r" \\ ")
        if len(set(cells)) > 1:
            body = r" \\ ".join(reversed(cells))
            yield "N12 swapped tuple", boxed(rf"{head}}} {body} \end{{pmatrix}}")
    if found := re.fullmatch(r"([A-Za-z]) ?= ?([^=]+)", text):
        yield "N16 other name", boxed(f"{'q' if found[1] != 'q' else 'r'} = {found[2]}")


def _other_words(task: Answered, text: str) -> Made:
    if found := re.fullmatch(r"\\text\{(\(?)(\w+)(\)?)\}", text):
        word = found[2]
        other = chr(ord(word) + 1) if len(word) == 1 else word[:-1] + ("x" if word[-1] != "x" else "y")
        yield "N17 other word", boxed(rf"\text{{{found[1]}{other}{found[3]}}}")
    for unit, other in OTHER_UNIT.items():
        if text.endswith(unit) and len(items(text)) == 1:
            yield "N18 other unit", boxed(text.removesuffix(unit) + other)
    if text.startswith(r"\$"):
        yield "N18 other unit", boxed(text.removeprefix(r"\$") + r" \text{ cents}")
    if task.unit in STATED_UNIT:
        yield "N18 other unit", boxed(rf"{text} \text{{ {STATED_UNIT[task.unit]}}}")
    if (found := re.fullmatch(r"([\d.]+) ?\\?%", text)) and not re.search(r"(?i)\bpercent", task.question):
        yield "N19 percent left out", boxed(found[1])
    if found := re.fullmatch(r"(\d+)_\{?(\d)\}?", text):
        yield "N20 base left out", boxed(found[1])
        yield "N20 base left out", boxed(f"{found[1]}_{int(found[2]) + 1}")
