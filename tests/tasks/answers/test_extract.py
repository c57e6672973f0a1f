"""Where in a text the answer stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.tasks.answers.extract import FORMS, extract


@pytest.mark.parametrize(
    ("text", "form", "answer"),
    [
        (r"\boxed{4}", "boxed", "4"),
        (r"first \boxed{3}, no: \boxed{4}", "boxed", "4"),
        (r"\boxed{\frac{1}{\sqrt{2}}}", "boxed", r"\frac{1}{\sqrt{2}}"),
        (r"\boxed 7", "boxed", "7"),
        (r"\fbox{x} and #### 5", "boxed", "x"),
        (r"\boxed{1} and \boxed{-2}", "boxed", "1, -2"),
        (r"$\boxed{1}$, $\boxed{2}$ \text{ and } $\boxed{3}$", "boxed", "1, 2, 3"),
        (r"\boxed{never closed", "boxed", "never closed"),
        (r"\boxed{}", "boxed", ""),
        (r"\boxed{\{1,2\}}", "boxed", r"\{1,2\}"),
        ("18 - 2 = 16\n#### 16\nDone.", "hashes", "16"),
        ("#### 1\n#### 2", "hashes", "2"),
        ("The answer is 5.", "stated", "5"),
        ("**Final Answer:** $\\frac{1}{2}$", "stated", r"$\frac{1}{2}$"),
        ("Answer: 12\nAnswer: 13", "stated", "13"),
        ("so we get 3 times 1,234.5", "last_number", "1,234.5"),
        ("it is 3/4 of it", "last_number", "3/4"),
        ("x=-5", "last_number", "-5"),
        ("7-5", "last_number", "5"),
        ("it costs $12.50.", "last_number", "$12.50"),
        ("about 60%", "last_number", "60%"),
        (r"gives \frac{3}{4}", "last_number", r"\frac{3}{4}"),
        ("in 2024, we need 30.", "last_number", "30"),
    ],
)
def test_the_answer_is_found_in_the_first_form_that_the_text_has(text: str, form: str, answer: str) -> None:
    assert extract(text) == (form, answer)


@pytest.mark.parametrize("text", ["", "no idea", "####", "box"])
def test_a_text_without_an_answer_gives_none(text: str) -> None:
    assert extract(text) is None


def test_only_the_forms_that_are_asked_for_count() -> None:
    assert extract(r"\boxed{1} then 2", ("last_number",)) == ("last_number", "2")
    assert extract("it is 2", ("boxed", "hashes")) is None


@given(st.text(alphabet="\\boxed{}#1,.-/ $%answeris\n", max_size=60))
def test_any_text_gives_an_answer_of_a_known_form_or_none(text: str) -> None:
    found = extract(text)
    assert found is None or found.form in FORMS
