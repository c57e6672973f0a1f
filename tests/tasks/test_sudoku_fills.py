"""The parser of fills: both dialects, one table."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.tasks.sudoku import Sudoku
from motet.tasks.sudoku_fills import Fills, parse_fills

ROWS = [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]
WHOLE = Fills(tuple(enumerate(value for row in ROWS for value in row)))
TWO = Fills(((1, 3), (14, 2)))
NOT_TRIPLE = "is no [row, column, value] of a grid of 4"


@pytest.mark.parametrize(
    ("text", "fills"),
    [
        (" ".join(str(value) for row in ROWS for value in row), WHOLE),
        ("_ 3 _ _ _ _ _ _ _ _ _ _ _ _ 2 _", TWO),
        ("1 2", Fills(((0, 1), (1, 2)), "2 of 16 cells")),
        ("1 5", Fills(((0, 1),), "'5' is no value of a grid of 4")),
        ("1 a 2", Fills(((0, 1),), "'a' is no value of a grid of 4")),
        ("1 " * 17, Fills(tuple((cell, 1) for cell in range(16)), "more than 16 words")),
        ("_ _", Fills((), "the grid is blank")),
        ("", Fills((), "the answer is empty")),
        ("no idea", Fills((), "'no' is no value of a grid of 4, and there is no list of fills")),
        (f"#### {ROWS}", WHOLE),
        (f"I think so. #### {ROWS}\nThat is all, 16 cells.", WHOLE),
        (f"```json\n{json.dumps(ROWS, indent=1)}\n```", WHOLE),
        (f"#### ```json\n{json.dumps(ROWS)}\n```", WHOLE),
        (f"[[0, 0, 4]] no, rather {ROWS}", WHOLE),
        (f"#### [[0, 0, 4]]\nwait\n#### {ROWS}", WHOLE),
        ("#### ['1234', '3412', '2143', '4321']", WHOLE),
        ('#### ["1 2 3 4", "3 4 1 2", "2 1 4 3", "4 3 2 1"]', WHOLE),
        (f"#### {[value for row in ROWS for value in row]}", WHOLE),
        ("#### [[0, 1, 3], [3, 2, 2]]", TWO),
        ("#### [(0, 1, 3), (3, 2, 2)]", TWO),
        ('#### [["0", "1", "3"], [3, 2, 2]]', TWO),
        ("#### [3, 2, 2]", Fills(((14, 2),))),
        ("#### [[0, 3, 0, null], [0, 0, '_', 0]]", Fills((), "the list holds what is no plain value")),
        ('#### [[0, 3, 0, null], [0,0,0,0], ["_",".",0,0], [0,0,2,0]]', TWO),
        ("#### []", Fills((), "the list of fills is empty")),
        ("[]", Fills((), "the list of fills is empty")),
        ("#### [[]]", Fills((), f"[] {NOT_TRIPLE}")),
        ("#### fill in the rest", Fills((), "no list of fills after ####")),
        ("#### [[0, 1, 3]", Fills(((1, 3),))),  # the inner list is complete
        ("#### [[0, 1", Fills((), "the list of fills has no end")),
        ("#### [[0, 1, 3], [4, 0, 1]]", Fills((), f"[4, 0, 1] {NOT_TRIPLE}")),
        ("#### [[0, 1, 5]]", Fills((), f"[0, 1, 5] {NOT_TRIPLE}")),
        ("#### [[0, -1, 1]]", Fills((), f"[0, -1, 1] {NOT_TRIPLE}")),
        ("#### [[0, 1, true]]", Fills((), f"[0, 1, True] {NOT_TRIPLE}")),
        ("#### [[0, 1, 1.0]]", Fills((), f"[0, 1, 1.0] {NOT_TRIPLE}")),
        (f"#### {ROWS[:3]}", Fills((), f"[1, 2, 3, 4] {NOT_TRIPLE}")),
        ("#### [[1,2,3,9],[3,4,1,2],[2,1,4,3],[4,3,2,1]]", Fills((), "9 is no value of a grid of 4")),
        ("#### [{}, {}]", Fills((), f"[{{}}, {{}}] {NOT_TRIPLE}")),
        ('#### ["U", "D"]', Fills((), f"['U'] {NOT_TRIPLE}")),
        ("#### [" + "9" * 400 + "]", Fills((), "[9999999999999999999...] " + NOT_TRIPLE)),
    ],
)  # fmt: skip
def test_case_13_fills_are_read_or_the_reason_is_given(text: str, fills: Fills) -> None:
    found = parse_fills(text, 4)
    assert found.steps == fills.steps
    assert found.failure == fills.failure


def test_case_13_nothing_in_an_answer_is_ever_run(tmp_path) -> None:
    target = tmp_path / "x"
    found = parse_fills(f"#### [__import__('os').system('touch {target}')]", 4)
    assert (found.steps, found.failure) == ((), "the list holds what is no plain value")
    assert not target.exists()


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=80) | st.text(alphabet="[]0123456789, _#'\"\n.", max_size=120), st.sampled_from([4, 6, 9]))
def test_any_text_gives_fills_on_the_grid_and_a_reason_where_there_is_none(text: str, size: int) -> None:
    found = parse_fills(text, size)
    assert all(0 <= cell < size * size and 1 <= value <= size for cell, value in found.steps)
    assert found.steps or found.failure


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 500), st.sampled_from(["words", "rows", "triples", "flat"]), st.text(alphabet="ab .", max_size=9))
def test_every_way_to_write_a_solution_is_read_alike(index: int, form: str, prose: str) -> None:
    task = Sudoku().task("train", index)
    rows = [list(task.solution[first : first + 4]) for first in range(0, 16, 4)]
    written = {
        "words": " ".join(map(str, task.solution)),
        "rows": f"{prose} #### {rows} {prose}",
        "triples": f"{prose} #### {[[cell // 4, cell % 4, value] for cell, value in enumerate(task.solution)]} {prose}",
        "flat": f"{prose} #### {list(task.solution)} {prose}",
    }
    assert task.start().after(parse_fills(written[form], 4)).at_goal
