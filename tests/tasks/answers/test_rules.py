"""The rules of tools/measure_answers.py on one answer of each kind; docs/answers.md has them on whole data sets."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from motet.tasks.math_sets import MathTask

pytest.importorskip("math_verify")

PATH = Path(__file__).parents[3] / "tools" / "answer_rules.py"
spec = importlib.util.spec_from_file_location("answer_rules", PATH)
assert spec is not None and spec.loader is not None
answer_rules = importlib.util.module_from_spec(spec)
spec.loader.exec_module(answer_rules)

TASKS = [
    MathTask("whole", "How many?", "1250"),
    MathTask("percent", "What percent?", "60"),
    MathTask("fraction", "Which part?", r"\frac{243}{625}"),
    MathTask("root", "How long?", r"3\sqrt{13}"),
    MathTask("complex", "Which number?", "6+9i"),
    MathTask("degrees", "Which angle?", r"90^\circ"),
    MathTask("money", "How dear?", r"\$18.90"),
    MathTask("share", "What is the probability?", "62.5%"),
    MathTask("base", "Which numeral?", "52_8"),
    MathTask("tuple", "Which point?", r"\left(3, \frac{\pi}{2}\right)"),
    MathTask("interval", "Which values?", r"x \in [-2,7]"),
    MathTask("union", "Which values?", r"(-\infty, 2) \cup (3, \infty)"),
    MathTask("column", "Which vector?", r"\begin{pmatrix} -2 \\ -14 \\ -7 \end{pmatrix}"),
    MathTask("signs", "Which values?", r"1 \pm \sqrt{19}"),
    MathTask("word", "Who?", r"\text{Evelyn}"),
    MathTask("choice", "Which one?", r"\text{(C)}"),
    MathTask("line", "Which line?", "y = 2x + 3"),
    MathTask("polynomial", "Factor.", "(a+5)(b+2)"),
    MathTask("floor", "How many?", r"$\lfloor\frac{2 n-1}{5}\rfloor$"),
    MathTask("list", "All values?", r"$\frac{32}{9}$,$\frac{1}{2}$", many=True),
    MathTask("pairs", "All pairs?", "$(1,1), (3,2)$", many=True),
    MathTask("minutes", "How long?", "45", unit="minute"),
]


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_every_rewrite_is_accepted_and_every_near_miss_rejected(task: MathTask) -> None:
    rewrites, misses = list(answer_rules.rewrites(task)), list(answer_rules.near_misses(task))
    assert [made for made in rewrites if task.check(made[1]) != 1.0] == []
    assert [made for made in misses if task.check(made[1]) != 0.0] == []
    assert len(rewrites) >= 7 and misses
