"""The parser of moves: both dialects, one table."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.tasks.plan_path_moves import Moves, parse_moves

UD = Moves(("U", "D"))


@pytest.mark.parametrize(
    ("text", "moves"),
    [
        ("c12 c13 c23", Moves((12, 13, 23))),
        ("  c00\nc01 ", Moves((0, 1))),
        ("c007 c123", Moves((7, 123))),  # grids with a side above 10
        ("c12 goal c13", Moves((12,), "'goal' is no cell")),
        ("c12 c", Moves((12,), "'c' is no cell")),
        ("", Moves((), "the answer is empty")),
        ("   ", Moves((), "the answer is empty")),
        ('["U", "D"]', UD),
        ('#### ["U", "D"]', UD),
        ('####["U","D"]', UD),
        ("#### ['U', 'D']", UD),
        ("#### [U, D]", UD),
        ('#### ["u", "d"]', UD),
        ('#### ["up", "Down"]', UD),
        ('#### ["U", "D",]', UD),
        ('Going up first.\n#### ["U", "D"]\nThat should do.', UD),
        ('```json\n["U", "D"]\n```', UD),
        ('#### ```json\n["U", "D"]\n```', UD),
        ('["L"] no, rather ["U", "D"]', UD),
        ('#### ["L"]\nwait\n#### ["U", "D"]', UD),
        ('["L", "L"]\n#### ["U", "D"]', UD),
        ("#### []", Moves((), "the list of moves is empty")),
        ("[]", Moves((), "the list of moves is empty")),
        ("#### up then down", Moves((), "no list of moves after ####")),
        ('["U"] #### then I stop', Moves((), "no list of moves after ####")),
        ('#### ["U", "D"', Moves((), "no list of moves after ####")),
        ('["U", "D"', Moves((), "the list of moves has no end")),
        ('#### ["U", "X"]', Moves((), "'X' is no direction")),
        ('#### ["U", 3]', Moves((), "3 is no direction")),
        ('#### ["U", null]', Moves((), "None is no direction")),
        ("#### [[1, 2], [3, 4]]", Moves((), "3 is no direction")),
        ('#### [["U", "D"]]', UD),
        ("I go up", Moves((), "'I' is no cell, and there is no list of moves")),
        ("x" * 99, Moves((), "'xxxxxxxxxxxxxxxxxxx...' is no cell, and there is no list of moves")),
    ],
)
def test_case_13_moves_are_read_or_the_reason_is_given(text: str, moves: Moves) -> None:
    assert parse_moves(text) == moves


def test_case_13_nothing_in_an_answer_is_ever_run(tmp_path) -> None:
    target = tmp_path / "x"
    moves = parse_moves(f"#### [__import__('os').system('touch {target}')]")
    assert not target.exists()
    assert moves.steps == ()
    assert moves.failure is not None
    assert moves.failure.endswith("is no direction")


@settings(max_examples=50)
@given(st.text())
def test_any_text_gives_moves_or_a_reason(text: str) -> None:
    moves = parse_moves(text)
    assert moves.steps or moves.failure


@given(st.lists(st.sampled_from("UDLR"), min_size=1))
def test_a_printed_list_is_read_back(steps: list[str]) -> None:
    assert parse_moves(f"#### {steps}") == Moves(tuple(steps))


@given(st.lists(st.integers(0, 99), min_size=1))
def test_printed_cells_are_read_back(cells: list[int]) -> None:
    assert parse_moves(" ".join(f"c{cell:02d}" for cell in cells)) == Moves(tuple(cells))


def test_a_very_long_answer_is_read_in_linear_time() -> None:
    assert len(parse_moves("[" * 100_000 + '"U"]').steps) == 1
    assert len(parse_moves("c00 " * 100_000).steps) == 100_000
