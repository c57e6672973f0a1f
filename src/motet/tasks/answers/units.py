"""Numbers with what stands around them: units, percent signs, money, words that multiply."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

_ALIKE = """
degree: deg degrees degree \u00b0
radian: rad radians radian
$: dollar dollars usd bucks $
cent: cent cents \u00a2
euro: euro euros
inch: in inch inches
foot: ft foot feet
yard: yd yard yards
mile: mi mile miles
mm: mm millimeter millimeters
cm: cm centimeter centimeters
m: m meter meters metre metres
km: km kilometer kilometers
second: s sec secs second seconds
minute: min mins minute minutes
hour: h hr hrs hour hours
day: day days
week: week weeks
month: month months
year: yr yrs year years
g: g gram grams
kg: kg kilogram kilograms
pound: lb lbs pound pounds
ounce: oz ounce ounces
mph: mph
km/h: km/h kph
m/s: m/s
unit: unit units
"""
_CANON = {
    name: canon
    for canon, _, names in (line.partition(":") for line in _ALIKE.strip().splitlines())
    for name in names.split()
}
_TIMES = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12, "dozen": 12}
_TAIL = re.compile(
    r"(?P<value>.*?[\d}!)\]])\s*(?P<tail>(?:\^\\circ|%|\\?\$|\u00a2"
    r"|\s*/?\s*\\text\{[^{}]*\}|\s+/?\s*(?:[A-Za-z]{2,}\.?)(?:\s*/\s*[A-Za-z]+)?|(?<=\d)(?:cm|mm|km|kg|mph|ft|lbs?)\b"
    r")[\s\S]*)"
)
_POWER = re.compile(r"\^ ?(?:\{ ?(\d) ?\}|(\d))$")


@dataclass(frozen=True, slots=True)
class Quantity:
    r"""`value` (tidy text) times `scale`, in `unit` ("" for none). `percent`: a percent sign stood behind."""

    value: str
    unit: str = ""
    percent: bool = False
    scale: Fraction = Fraction(1)


def quantity(text: str) -> Quantity:
    r"""The parts of a tidy text.

    >>> quantity(r"5.4 \text{cents}"), quantity(r"\$18.90").unit, quantity("12 %").percent
    (Quantity(value='5.4', unit='cent', percent=False, scale=Fraction(1, 1)), '$', True)
    >>> quantity("3 million").scale, quantity(r"864 \text{inches}^2").unit, quantity("2 sin x").unit
    (Fraction(1000000, 1), 'inch^2', '')
    """
    text, money = _money(text)
    if r"^\circ" in text.removesuffix(r"^\circ"):
        if re.search(r"\\(?:sin|cos|tan|cot|sec|csc)", text):
            return Quantity(text.replace(r"^\circ", r" \cdot \frac{\pi}{180}"))
        return Quantity(text.replace(r"^\circ", ""), "degree")
    found = _TAIL.fullmatch(text)
    if not found:
        return Quantity(text, money)
    value, tail = found["value"].strip(), found["tail"].strip()
    if re.search(r"[\d{(]", _POWER.sub("", re.sub(r"\\text\{([^{}]*)\}|\^\\circ", r"\1", tail))):
        return Quantity(text, money)
    words = re.sub(r"\\text\{([^{}]*)\}", r" \1 ", tail).replace(r"^\circ", " degrees ")
    power = _POWER.search(words.strip())
    names = re.sub(r"[^A-Za-z/%$\u00a2 ]", " ", _POWER.sub("", words.strip())).lower().split()
    if any(name in _FUNCTIONS for name in names):
        return Quantity(text, money)
    scale, exponent = Fraction(1), next((part for part in (power.groups() if power else ()) if part), "")
    percent = any(name in ("%", "percent", "pct") for name in names)
    kept = []
    for name in names:
        if name in _TIMES:
            scale *= _TIMES[name]
        elif name in ("square", "sq", "squared"):
            exponent = "2"
        elif name in ("cubic", "cubed"):
            exponent = "3"
        elif name not in ("%", "percent", "pct", "of", "per", "the", "a"):
            kept.append(_CANON.get(name) or _CANON.get(name.removesuffix("s")) or name.removesuffix("s"))
    unit = " ".join(kept).replace(" / ", "/") or money
    return Quantity(value, unit + (f"^{exponent}" if exponent and unit else ""), percent, scale)


_FUNCTIONS = {
    "sin",
    "cos",
    "tan",
    "cot",
    "sec",
    "csc",
    "log",
    "ln",
    "exp",
    "sqrt",
    "pi",
    "mod",
    "and",
    "or",
    "if",
    "for",
    "is",
}


def _money(text: str) -> tuple[str, str]:
    found = re.match(r"(-?) ?\\?\$ ?(?=[\d.\\])", text)
    return (found.group(1) + text[found.end() :], "$") if found else (text, "")


def unit_of(text: str) -> str:
    r"""The canonical name of a unit that stands alone, as data sets give it.

    >>> unit_of("minutes"), unit_of("$cm^2$"), unit_of(r"^{\circ}"), unit_of("%")
    ('minute', 'cm^2', 'degree', '%')
    """
    from motet.tasks.answers.latex import tidy

    text = tidy(text)
    if text in ("", "%"):
        return text
    if text == r"^\circ":
        return "degree"
    return quantity(
        rf"1 \text{{{_POWER.sub('', text)}}}" + (found.group() if (found := _POWER.search(text)) else "")
    ).unit
