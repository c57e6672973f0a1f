"""Strategies are read from headings, a list, or lines, and valued by what the tried ones earned."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.workflows.strategies import estimated_worth, likeness, plan_form, read_strategies


@pytest.mark.parametrize(("text", "ways", "form"), [
    ("STRATEGY 1: count\nSTRATEGY 2: guess", ("count", "guess"), 1.0),
    ("Sure!\n**Strategy 1:** count\nslowly\n\n**Strategy 2:** guess", ("count slowly", "guess"), 1.0),
    ("# STRATEGY 1. count\n# STRATEGY 2) guess", ("count", "guess"), 1.0),
    ("STRATEGY: count", ("count",), 1.0),
    ("### Strategy 1\ncount\n### Strategy 2\nguess", ("count", "guess"), 1.0),
    ("STRATEGY 1 - count\nSTRATEGY 2 \u2014 guess", ("count", "guess"), 1.0),
    ("**Strategy A:** count\n**STRATEGY TWO**\nguess", ("count", "guess"), 1.0),
    ("Strategy games are fun", ("Strategy games are fun",), 0.0),
    ("strategy a lot", ("strategy a lot",), 0.0),
    ("STRATEGY 1: a\nSTRATEGY 2: b\nSTRATEGY 3: c\nSTRATEGY 4: d", ("a", "b", "c"), 1.0),
    ("1. count\n2. guess", ("count", "guess"), 0.5),
    ("Ways:\n1) count\n2) guess", ("count", "guess"), 0.5),
    ("count\n\nguess", ("count", "guess"), 0.0),
    ("way tens ones way carry", ("tens ones", "carry"), 1.0),
    ("way", ("",), 0.0), ("way way ones", ("ones",), 1.0), ("highway 7", ("highway 7",), 0.0),
    ("", ("",), 0.0), (" \n ", ("",), 0.0), ("STRATEGY 1:\nSTRATEGY 2:", ("STRATEGY 1:", "STRATEGY 2:"), 0.0),
    (r"STRATEGY 1: it is \boxed{7}", (r"it is \boxed{7}",), 0.0),
])  # fmt: skip
def test_strategies_are_read_in_every_form(text, ways, form):
    read = read_strategies(text, 3)
    assert (read.ways, read.form) == (ways, form)


@settings(max_examples=40, deadline=None)
@given(st.text(), st.integers(1, 5))
def test_every_text_gives_one_to_most_strategies(text, most):
    read = read_strategies(text, most)
    assert 1 <= len(read.ways) <= most and 0.0 <= plan_form(read, most) <= 1.0


def test_the_form_of_a_plan_counts_what_differs_in_words():
    """0.2 for the headings, 0.8 for the share of different strategies."""
    read = lambda text: plan_form(read_strategies(text, 2), 2)
    assert read("STRATEGY 1: count\nSTRATEGY 2: guess") == 1.0
    assert read("STRATEGY 1: count\nSTRATEGY 2: Count!") == pytest.approx(0.6)
    assert (read("count"), read(""), read("1. a\n2. b")) == (0.4, 0.0, 0.9)


def test_likeness_is_the_share_of_common_words():
    assert likeness("use symmetry of x", "use x") == 0.5
    assert (likeness("", ""), likeness("", "x")) == (1.0, 0.1)


def test_a_strategy_that_was_tried_is_worth_most_of_what_it_earned():
    """count: (1 * 1 + 0.1 * 0) / 1.1. fold, like neither: the mean. Both: the mean of the two."""
    tried, worths = ("count", "guess"), (1.0, 0.0)
    assert estimated_worth(["count"], tried, worths) == pytest.approx(1 / 1.1)
    assert estimated_worth(["guess"], tried, worths) == pytest.approx(0.1 / 1.1)
    assert estimated_worth(["fold"], tried, worths) == 0.5
    assert estimated_worth(["count", "guess"], tried, worths) == pytest.approx(0.5)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text(max_size=9), min_size=1, max_size=4),
    st.lists(st.tuples(st.text(max_size=9), st.floats(0, 1)), min_size=1, max_size=4),
)
def test_an_estimate_lies_in_the_unit_interval(ways, tried):
    assert 0.0 <= estimated_worth(ways, [way for way, _ in tried], [worth for _, worth in tried]) <= 1.0
