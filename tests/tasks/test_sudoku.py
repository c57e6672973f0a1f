"""Sudoku: one solution each, clues that count, splits that share no solved grid, rewards by hand."""

from __future__ import annotations

import dataclasses
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import ConfigError, TaskError
from motet.tasks.games import Game
from motet.tasks.games import Position as GamePosition
from motet.tasks.sudoku import Sudoku, SudokuTask, fill
from motet.tasks.sudoku_demonstrators import PERFECT, RANDOM, WRONG, answer, solve
from motet.tasks.sudoku_fills import Fills
from motet.tasks.sudoku_grids import BOXES, peers, relabelled, small_grids, solutions, split_of
from motet.tasks.sudoku_rewards import judge_fills
from motet.testing.check_task import check_task

SOLVED = (1, 2, 3, 4, 3, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 1)
# . . | 3 4        the cells 0, 1, 4 and 15 are blank
# . 4 | 1 2
# 2 1 | 4 3
# 4 3 | 2 .
FOUR = SudokuTask("four", 4, (0, 0, 3, 4, 0, 4, 1, 2, 2, 1, 4, 3, 4, 3, 2, 0), SOLVED, 8)


def test_case_09_every_puzzle_has_exactly_one_solution_and_the_clues_asked_for() -> None:
    for size, num, clues in ((4, 40, 6), (6, 4, 14), (9, 1, 36)):
        for split in Sudoku.splits:
            for index in range(num):
                task = Sudoku(size=size).task(split, index)
                assert solutions(size, task.clues) == [task.solution]
                assert size * size - task.num_blanks == clues
                assert split_of(size, task.solution) == split


def test_case_09_no_solved_grid_of_4_belongs_to_two_splits_by_enumeration() -> None:
    grids = {split: set(small_grids(split)) for split in Sudoku.splits}
    assert {split: len(found) for split, found in grids.items()} == {"train": 237, "validation": 31, "test": 20}
    assert set.union(*grids.values()) == set(solutions(4, (0,) * 16, limit=1000))
    assert sum(map(len, grids.values())) == 288
    assert len({relabelled(grid) for grid in set.union(*grids.values())}) == 12


@pytest.mark.parametrize("size", [6, 9])
def test_case_09_larger_grids_that_differ_in_names_alone_share_their_split(size: int) -> None:
    solved = Sudoku(size=size).task("test", 0).solution
    for seed in range(5):
        names = sorted(range(1, size + 1), key=lambda value: random.Random(seed * 100 + value).random())
        assert split_of(size, tuple(names[value - 1] for value in solved)) == "test"


def test_the_solver_agrees_with_trying_everything() -> None:
    """All 288 grids of 4 that the solver finds obey the rules, and a puzzle with two solutions is no puzzle."""
    for grid in solutions(4, (0,) * 16, limit=1000):
        assert all(grid[cell] != grid[other] for cell in range(16) for other in peers(4)[cell])
    open_pair = list(SOLVED)
    for cell in (0, 1, 8, 9):  # 1 2 over 2 1: either way round
        open_pair[cell] = 0
    assert len(solutions(4, tuple(open_pair))) == 2
    assert solutions(4, (1, 1) + (0,) * 14) == []


def test_boxes_have_the_right_shape() -> None:
    assert [cell for cell in peers(6)[0] if cell % 6 and cell // 6] == [7, 8]  # two rows, three columns
    assert all(len(peers(size)[0]) == 2 * (size - 1) + (high - 1) * (wide - 1) for size, (high, wide) in BOXES.items())


def test_case_08_a_valid_grid_that_ignores_a_clue_is_not_solved() -> None:
    other = tuple(value % 4 + 1 for value in SOLVED)  # a right grid with other names
    assert all(other[cell] != other[peer] for cell in range(16) for peer in peers(4)[cell])
    done = fill(FOUR.start(), Fills(tuple(enumerate(other))))
    assert not done.after.at_goal
    assert all(done.after.cells[cell] == clue for cell, clue in enumerate(FOUR.clues) if clue)
    assert judge_fills(FOUR.start(), f"#### {[list(other[i : i + 4]) for i in (0, 4, 8, 12)]}").team == 0.0


@pytest.mark.parametrize("size", [4, 6, 9])
@pytest.mark.parametrize("dialect", ["chat", "compact"])
def test_case_08_no_prompt_holds_an_accepted_answer(size: int, dialect: str) -> None:
    for index in range(3):
        start = Sudoku(size=size).task("test", index).start()
        for board in (start, start.after(start.read(answer(start, WRONG, random.Random(index))))):
            shown = board.show(dialect)  # type: ignore[arg-type]
            for text in (shown.stable, shown.now, shown.here, shown.answer_form, shown.list_form):
                assert not board.after(board.read(text)).at_goal
            if dialect == "chat":
                assert board.read(shown.answer_form).failure is not None


def test_case_12_a_later_prompt_shows_what_stands_and_what_is_left() -> None:
    board = FOUR.start().after(Fills(((0, 1), (15, 2))))  # 2 stands in the row of cell 15
    assert board.show("compact").now == "bump n6"
    assert board.show("compact").here == "a _ 3 4 _ 4 1 2 2 1 4 3 4 3 2 _"
    chat = board.show("chat").now
    assert chat.startswith("1 . | 3 4\n. 4 | 1 2\n---------\n2 1 | 4 3\n4 3 | 2 .\n")
    assert "You filled in so far: (0, 0) = 1.\nFills left: 6.\nPart of the last answer was refused" in chat


def test_a_fill_that_breaks_a_rule_is_refused_and_costs_one() -> None:
    done = fill(FOUR.start(), Fills(((0, 2), (1, 2), (2, 1), (3, 4))))
    assert done.refused == ((0, 2), (2, 1))  # 2 stands in the column; cell 2 is given
    assert done.placed == ((1, 2),)
    assert (done.after.moves_left, done.after.last) == (5, "bump")  # cell 3 said what stands: free


def test_an_answer_can_put_right_what_was_wrong() -> None:
    swapped = (0, 0, 3, 4, 0, 0, 1, 2, *SOLVED[8:])
    task = SudokuTask("t", 4, swapped, SOLVED, 20)
    wrong = fill(task.start(), Fills(((0, 1), (4, 3), (5, 4), (1, 2)))).after
    assert wrong.at_goal
    board = fill(task.start(), Fills(((1, 2),))).after
    assert fill(board, Fills(((1, 1),))).after.cells[1] == 0  # lifted, refused (1 stands below), blank
    assert fill(board, Fills(((1, 1),))).after.moves_left == board.moves_left - 1


def test_the_budget_ends_an_answer_and_the_episode() -> None:
    task = dataclasses.replace(FOUR, max_moves=2)
    done = fill(task.start(), solve(task))
    assert done.placed == ((0, 1), (1, 2))
    assert (done.after.is_over, done.after.at_goal, done.after.progress) == (True, False, 0.45)


@pytest.mark.parametrize(
    ("fills", "team", "local"),
    [
        ("#### [[0,0,1],[0,1,2],[1,0,3],[3,3,1]]", 1.0, 1.0),
        ("#### [[0,0,1],[0,1,2]]", 0.9 * 2 / 4, (1 + 2 / 4) / 2),
        ("#### [[0,0,1],[0,1,1]]", 0.9 * 1 / 4 * (1 + 1 / 2) / 2, (1 / 2 + 1 / 4) / 2),
        ("#### [[0,0,2]]", 0.0, 0.0),
        ("#### [[0,2,3]]", 0.0, 0.0),  # says what stands
        ("", 0.0, 0.0),
    ],
)
def test_rewards_by_hand(fills: str, team: float, local: float) -> None:
    reward = judge_fills(FOUR.start(), fills)
    assert (reward.team, reward.local) == (pytest.approx(team), pytest.approx(local))


def test_follow_pays_for_what_was_proposed() -> None:
    start = FOUR.start()
    plan = Fills(((0, 1), (1, 2)))
    assert judge_fills(start, "#### [[0,0,1]]", plan, follow=1.0).local == 0.5
    assert judge_fills(start, "#### [[3,3,1]]", plan, follow=1.0).local == 0.0


def test_typical_candidates_differ_at_either_end_of_alpha() -> None:
    for index in range(20):
        start, rng = Sudoku().task("train", index).start(), random.Random(index)
        rewards = [judge_fills(start, answer(start, kind, rng)) for kind in (WRONG, WRONG, RANDOM, RANDOM, PERFECT)]
        assert len({reward.team for reward in rewards}) > 1
        assert len({reward.local for reward in rewards}) > 1


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 200), st.integers(0, 10**6))
def test_case_11_no_episode_scores_above_the_one_that_solves_at_once(index: int, seed: int) -> None:
    task, rng = Sudoku().task("train", index), random.Random(seed)
    board, teams = task.start(), []
    while not board.is_over and len(teams) < 8:
        kind = int(rng.random() * 3)
        words = answer(board, kind, rng).split()
        text = " ".join(word if rng.random() < 0.7 else "_" for word in words)
        reward = judge_fills(board, text)
        board = board.after(reward.notes)
        teams.append(reward.team)
        assert (reward.team == 1.0) == board.at_goal
        assert all(board.cells[cell] in (0, value) or not task.clues[cell] for cell, value in enumerate(task.clues))
        assert all(not v or board.cells[o] != v for c, v in enumerate(board.cells) for o in peers(4)[c])
        assert (board.progress == 1.0) == board.at_goal and board.progress <= 1.0
    assert sum(teams) / len(teams) <= 1.0
    assert board.num_moves <= task.max_moves


def test_a_task_is_a_value_and_a_game() -> None:
    task = Sudoku().task("validation", 3)
    assert isinstance(task, Game) and isinstance(task.start(), GamePosition)
    again = json.loads(json.dumps(dataclasses.asdict(task)))
    assert SudokuTask(**{k: tuple(v) if isinstance(v, list) else v for k, v in again.items()}) == task
    passed = check_task(Sudoku(), num=15, score=lambda one, text: judge_fills(one.start(), text))
    assert passed[-2:] == ["start", "rewards"]


def test_compact_prompts_are_short_and_always_as_long() -> None:
    for index in range(5):
        start = Sudoku().task("test", index).start()
        shown = start.show("compact")
        assert len(f"{shown.stable} solver {shown.now} {shown.here}".split()) == 19
        for text in ("", "1 2", "#### [[0, 0, 1]]"):
            assert len(start.tell(start.read(text), "compact").split()) == 16


def test_the_wrong_demonstrator_is_better_than_chance_and_seldom_right() -> None:
    progress, solved = {WRONG: 0.0, RANDOM: 0.0}, 0
    for index in range(100):
        start = Sudoku().task("train", index).start()
        for kind in progress:
            after = start.after(start.read(answer(start, kind, random.Random(index))))
            progress[kind] += after.progress
            solved += after.at_goal
    assert progress[WRONG] > 1.2 * progress[RANDOM] and solved < 10


@pytest.mark.parametrize(
    "settings",
    [{"size": 5}, {"size": "4"}, {"clues": 3}, {"clues": 16}, {"max_turns": 0}, {"budget_factor": 0.5}, {"clue": 6}],
)
def test_settings_out_of_range_are_refused(settings: dict) -> None:
    with pytest.raises(ConfigError):
        Sudoku(**settings)


def test_a_place_that_no_split_has_is_refused() -> None:
    for split, index in (("dev", 0), ("test", -1), ("test", 10_000)):
        with pytest.raises(TaskError):
            Sudoku().task(split, index)


def test_a_cell_that_is_filled_in_again_and_again_counts_once() -> None:
    """Going to and fro in one cell is no way to the form of a filled board, however many fills it takes."""
    empty = SudokuTask("t", 4, (0, 0, 0, 0, 0, 0, 0, 0, *SOLVED[8:]), SOLVED, 16).start()
    once, often = (judge_fills(empty, "#### " + json.dumps([[0, 0, 1], [0, 0, 3]] * num)) for num in (1, 8))
    assert once.local == often.local == (1 + 1 / 8) / 2
    assert judge_fills(empty, "#### [[0,0,1],[0,1,2]]").local == (1 + 2 / 8) / 2
