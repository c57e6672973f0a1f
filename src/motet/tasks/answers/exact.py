"""Rational numbers out of text, exactly: no float and no symbol is ever made."""

from __future__ import annotations

import re
from fractions import Fraction
from math import comb, factorial

from motet.tasks.answers.latex import closing

MAX_BITS = 40_000
"""A power or product above this size is left to the workers, which can be stopped."""

_NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?: \d{3})+(?!\d)|\d+)(?:\.\d*)?|\.\d+")
_REPEATING = re.compile(r"(\d*)\.(\d*)\\(?:overline|bar|dot)\s*\{(\d+)\}")


class _Unknown(Exception):
    """What stands here is no rational number, or one too large."""


def rational(text: str) -> Fraction | None:
    r"""The exact value of a tidy text made of integers, decimals, fractions, mixed numbers, `+ - * / ^ !`, binomials
    and brackets; None for everything else and for what is too large.

    `1\frac{4}{5}` is a mixed number. A comma separates thousands where it can; who expects a list splits it first.

    >>> [str(rational(text)) for text in (r"1\frac{4}{5}", "1,450,000", ".35625", r"2^{10}", "0.5/2", "10!/8!")]
    ['9/5', '1450000', '57/160', '1024', '1/4', '90']
    >>> rational(r"\sqrt{4}"), rational("x"), rational("9^{9^{9}}"), rational("1/0")
    (None, None, None, None)
    """
    if not text or len(text) > 2_000 or not re.search(r"\d", text):
        return None
    try:
        reader = _Reader(text)
        value = reader.sum()
        return value if reader.at == len(reader.text) else None
    except (_Unknown, RecursionError, ZeroDivisionError):
        return None


class _Reader:
    """Recursive descent, one method per level of binding."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text.strip(), 0

    def _skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1

    def _takes(self, *words: str) -> str:
        self._skip()
        for word in words:
            if self.text.startswith(word, self.at):
                end = self.at + len(word)
                if word[-1].isalpha() and self.text[end : end + 1].isalpha():
                    continue
                self.at = end
                return word
        return ""

    def sum(self) -> Fraction:
        value = self.product()
        while sign := self._takes("+", "-"):
            other = self.product()
            value = _small(value + other if sign == "+" else value - other)
        return value

    def product(self) -> Fraction:
        sign = 1
        while found := self._takes("+", "-"):
            sign = -sign if found == "-" else sign
        value = self.power()
        while True:
            if self._takes(r"\cdot", r"\times", "*"):
                value = _small(value * self._signed_power())
            elif self._takes("/", r"\div"):
                value = _small(value / self._signed_power())
            elif self.text[self.at : self.at + 1] == "(":
                value = _small(value * self.power())
            else:
                return sign * value

    def _signed_power(self) -> Fraction:
        return -self.power() if self._takes("-") else self.power()

    def power(self) -> Fraction:
        value = self.atom()
        while self._takes("!"):
            if value.denominator != 1 or not 0 <= value <= 2_000:
                raise _Unknown
            value = Fraction(factorial(int(value)))
        if self._takes("^"):
            value = _power(value, self._exponent())
        return value

    def _exponent(self) -> Fraction:
        if self._takes("{"):
            value = self.sum()
            if not self._takes("}"):
                raise _Unknown
            return value
        self._skip()
        if self.text[self.at : self.at + 1].isdigit():
            self.at += 1
            return Fraction(int(self.text[self.at - 1]))
        if self.text[self.at : self.at + 1] == "(":
            return self.atom()
        raise _Unknown

    def atom(self) -> Fraction:
        if self._takes("("):
            value = self.sum()
            if not self._takes(")"):
                raise _Unknown
            return value
        if self._takes("{"):
            value = self.sum()
            if not self._takes("}"):
                raise _Unknown
            return value
        if self._takes(r"\frac"):
            top, bottom = self._group(), self._group()
            return top / bottom
        if self._takes(r"\binom"):
            top, bottom = self._group(), self._group()
            if top.denominator != 1 or bottom.denominator != 1 or not 0 <= bottom <= top <= 2_000:
                raise _Unknown
            return Fraction(comb(int(top), int(bottom)))
        return self._number()

    def _group(self) -> Fraction:
        self._skip()
        if self.text[self.at : self.at + 1] != "{":
            raise _Unknown
        end = closing(self.text, self.at)
        inner = rational(self.text[self.at + 1 : end])
        if inner is None:
            raise _Unknown
        self.at = end + 1
        return inner

    def _number(self) -> Fraction:
        self._skip()
        if found := _REPEATING.match(self.text, self.at):
            self.at = found.end()
            whole, fixed, period = found.groups()
            head = Fraction(int(whole + fixed or "0"), 10 ** len(fixed))
            return head + Fraction(int(period), (10 ** len(period) - 1) * 10 ** len(fixed))
        found = _NUMBER.match(self.text, self.at)
        if not found:
            raise _Unknown
        self.at = found.end()
        digits = re.sub("[, ]", "", found.group())
        value = Fraction(digits if digits[-1] != "." else digits[:-1])
        return value + self._mixed() if digits.isdigit() else value

    def _mixed(self) -> Fraction:
        r"""The fraction of a mixed number that stands behind its whole part: `\frac{1}{2}`, or ` 1/2` after a space."""
        found = re.compile(r" ?\\frac\{(\d+)\}\{(\d+)\}| (\d+)/(\d+)(?!\d)").match(self.text, self.at)
        if not found:
            return Fraction(0)
        top, bottom = (int(part) for part in found.groups() if part is not None)
        if not 0 < top < bottom:
            raise _Unknown
        self.at = found.end()
        return Fraction(top, bottom)


def _small(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise _Unknown
    return value


def _power(base: Fraction, exponent: Fraction) -> Fraction:
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if exponent.denominator != 1 or abs(exponent) * bits > MAX_BITS:
        raise _Unknown
    return base ** int(exponent)
