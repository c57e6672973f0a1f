"""One spelling for what LaTeX spells in many ways: spacing, brackets, fractions, symbols."""

from __future__ import annotations

import re

_SIGNS = {
    "\u2212": "-", "\u2013": "-", "\u00d7": r"\times ", "\u00b7": r"\cdot ", "\u00f7": "/", "\u03c0": r"\pi ",
    "\u221e": r"\infty ", "\u222a": r"\cup ", "\u2208": r"\in ", "\u2264": r"\le ", "\u2265": r"\ge ",
    "\u00b1": r"\pm ", "\u00b0": r"^\circ ", "\u00b2": "^2", "\u00b3": "^3", "\u221a": r"\sqrt ", "\u00a0": " ",
    "\uff0c": ",", "\uff05": "%", "\u2009": " ", "\u202f": " ", "\u00bd": r"\frac{1}{2}", "\u00bc": r"\frac{1}{4}",
}  # fmt: skip
_SYMBOLS = re.compile("|".join(_SIGNS))
_THOUSANDS = re.compile(r"(?<=\d)(?:,\\!|\{,\}|\\,)\s*(?=\d{3}(?!\d))")
_SPACING = re.compile(r"(?<!\\)\\(?:[!,;:> ]|quad\b|qquad\b|thinspace\b|displaystyle\b|limits\b)|~")
_SIZES = re.compile(r"\\(?:left|right|[bB]igg?[lrm]?)(?![A-Za-z])\s*\.?")
_WORDS = re.compile(r"\\(?:text|mbox|mathrm|textrm|textbf|textit|mathbf|operatorname|rm|bf)\*?\s*\{([^{}]*)\}")
_RENAMED = {
    r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\dbinom": r"\binom", r"\tbinom": r"\binom",
    r"\geqslant": r"\ge", r"\geq": r"\ge", r"\leqslant": r"\le", r"\leq": r"\le", r"\gt": ">", r"\lt": "<",
    r"\lbrace": r"\{", r"\rbrace": r"\}", r"\lbrack": "[", r"\rbrack": "]", r"\degree": r"^\circ", r"\ast": r"\cdot",
    r"\percent": "%", r"\langle": "(", r"\rangle": ")", r"\lparen": "(", r"\rparen": ")", r"\ne": r"\neq",
}  # fmt: skip
_COMMAND = re.compile(r"\\[A-Za-z]+")
_ROOT = re.compile(r"\\sqrt\s*(\d|[A-Za-z]|\\pi\b)")
_DEGREE = re.compile(r"\^\s*(?:\{\s*\\circ\s*\}|\\circ\b)")


def tidy(text: str) -> str:
    r"""`text` in one spelling. Words of `\text{...}` stay marked as such; dollar signs that quote are dropped, an
    escaped one (money) stays.

    >>> tidy(r"$\left(\dfrac 59,\ 10,\!080\right).$")
    '(\\frac{5}{9}, 10080)'
    >>> tidy(r"90^{\circ}"), tidy(r"\sqrt2"), tidy("\u2212x\u00b2")
    ('90^\\circ', '\\sqrt{2}', '-x^2')
    """
    text = _SYMBOLS.sub(lambda found: _SIGNS[found.group()], text)
    text = re.sub(r"(?<!\\)\$", " ", text)
    text = _THOUSANDS.sub("", text)
    text = _SIZES.sub("", text)
    text = _SPACING.sub(" ", text)
    text = _COMMAND.sub(lambda found: _RENAMED.get(found.group(), found.group()), text)
    text = text.replace(r"\%", "%").replace("<=", r"\le ").replace(">=", r"\ge ")
    text = _WORDS.sub(_marked_words, text)
    text = _braced_fractions(text)
    text = _plain_words(text)
    text = _ROOT.sub(r"\\sqrt{\1}", text)
    text = _DEGREE.sub(r"^\\circ", text)
    text = re.sub(r"\s+", " ", text).strip()
    while text.endswith((".", ",", ";", ":")) and not text.endswith("..."):
        text = text[:-1].strip()
    return text


def _marked_words(found: re.Match[str]) -> str:
    """Words stay marked as such; a number that is only set in another type does not."""
    inner = found.group(1).strip()
    return f" {inner} " if re.fullmatch(r"[\d\s().,+/%-]*\d[\d\s().,+/%-]*", inner) else rf" \text{{{inner}}}"


def _plain_words(text: str) -> str:
    r"""`sqrt(2)`, `pi` and `infinity` written without a backslash."""
    while found := re.search(r"(?<![\\A-Za-z])sqrt ?\(", text):
        depth, end = 0, found.end() - 1
        while end < len(text) and (depth := depth + (text[end] == "(") - (text[end] == ")")) > 0:
            end += 1
        text = text[: found.start()] + r"\sqrt{" + text[found.end() : end] + "}" + text[end + 1 :]
    text = re.sub(r"(?<![\\A-Za-z])pi(?![A-Za-z])", r"\\pi ", text)
    return re.sub(r"(?<![\\A-Za-z])(?:infinity|inf|oo)(?![A-Za-z])", r"\\infty ", text)


def _braced_fractions(text: str) -> str:
    r"""`\frac43`, `\frac 5{9}` and `\frac{5}9` with both braces."""
    out, at = [], 0
    for found in re.finditer(r"\\frac(?![A-Za-z])", text):
        if found.start() < at:
            continue
        out.append(text[at : found.start()] + r"\frac")
        at = found.end()
        for _ in range(2):
            while at < len(text) and text[at] == " ":
                at += 1
            if at < len(text) and (text[at].isalnum()):
                out.append("{" + text[at] + "}")
                at += 1
            elif at < len(text) and text[at] == "{":
                end = closing(text, at)
                out.append("{" + _braced_fractions(text[at + 1 : end]) + "}")
                at = end + 1
            else:
                break
    return "".join(out) + text[at:]


def closing(text: str, at: int) -> int:
    r"""Where the brace that opens at `at` closes; the end of the text if it never does. `\{` and `\}` do not count.

    >>> closing("a{b{c}d}e", 1)
    7
    """
    depth = 0
    for place in range(at, len(text)):
        if text[place] in "{}" and (place == 0 or text[place - 1] != "\\"):
            depth += 1 if text[place] == "{" else -1
            if depth == 0:
                return place
    return len(text)


def bare(text: str) -> str:
    r"""Without the spaces that carry no meaning: those after a command before a letter, and between digits, stay.

    >>> bare(r"3 \sqrt{2} + x y"), bare(r"\pi k"), bare("1 2/3")
    ('3\\sqrt{2}+xy', '\\pi k', '1 2/3')
    """
    kept = ""
    for word in text.split():
        command, digits = re.search(r"\\[A-Za-z]+$", kept), kept[-1:].isdigit()
        kept += " " * bool((command and word[0].isalpha()) or (digits and word[0].isdigit())) + word
    return kept
