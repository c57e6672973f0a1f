import json

import pytest

from motet.cli.app import run
from motet.errors import ConfigError
from motet.matrix import (
    TIERS,
    Cell,
    CellFound,
    RoleFound,
    Tier,
    cells,
    is_read,
    problems_of,
    recipe,
    run_cell,
    run_matrix,
)
from motet.matrix_table import show
from motet.types import Episode, Outcome


def role(groups=4, unequal=1):
    return RoleFound(groups, unequal, unequal, 0, 0.5, (0.0, 1.0), None)


def cell(*problems):
    return CellFound("maths", "arithmetic", "voting", {"voter": role()}, 8, 0, 1.0, problems)


def episode(error=None):
    outcome = None if error else Outcome(False, 0.0)
    return Episode("set", "t", "train", "train", 0, 0, 0, (), outcome, error=error)


def test_there_are_twelve_cells_of_games_seven_of_maths_and_five_of_code():
    kinds = [one.kind for one in cells()]
    assert (kinds.count("games"), kinds.count("maths"), kinds.count("code")) == (12, 7, 5)


@pytest.mark.parametrize(
    ("only", "num"),
    [(["games"], 12), (["sudoku"], 4), (["voting"], 2), (["sudoku:debate", "code"], 6), (["single"], 5)],
)
def test_cells_are_named_by_kind_task_set_workflow_or_both(only, num):
    assert len(cells(only)) == num


def test_a_cell_or_tier_that_does_not_exist_is_refused_with_the_nearest():
    with pytest.raises(ConfigError, match="no cell is called 'vooting'.*did you mean 'voting'"):
        cells(["vooting"])
    with pytest.raises(ConfigError, match="there is no tier 'smok'.*did you mean 'smoke'"):
        run_matrix("smok")


def test_a_cell_holds_where_nothing_failed_and_every_role_has_an_unequal_group():
    assert problems_of([episode()], {"a": role(), "b": role()}) == []
    assert problems_of([episode()], {"a": role(), "b": role(unequal=0)}) == ["b: 4 groups, all equal"]
    assert problems_of([episode()], {"a": role(groups=0, unequal=0)}) == ["a: never spoke"]
    assert problems_of([episode(), episode("boom")], {"a": role()}) == ["1 of 2 episodes failed, the first by: boom"]


@pytest.mark.parametrize(
    ("notes", "read"),
    [
        ({"failure": None, "steps": []}, True),
        ({"failure": "no list"}, False),
        ({"answer": "7"}, True),
        ({"answer": None, "form": 1.0}, False),
        ({"accepts": False}, True),
        ({"accepts": None}, False),
        ({"program": "print(1)", "actions": "#### ['U']"}, True),
        ({"program": "print(1)", "actions": ""}, False),
        ({"program": "def f(x): ...", "share": 0.0}, True),
        ({"program": None, "share": 0.0}, False),
        ({"case": None}, False),
        ({"actions": "any words"}, None),
        ({"form": 0.5, "index": 1}, True),
        ({"form": 0.0}, False),
        ({"other": 1}, None),
        ({"form": "x"}, None),
        (None, None),
        ("text", None),
    ],
)
def test_whether_an_answer_was_read_is_told_by_its_notes(notes, read):
    assert is_read(notes) is read


def test_every_tier_has_settings_for_every_kind_and_two_iterations():
    for tier in TIERS.values():
        for one in cells():
            made = recipe(one, tier)
            assert made["train"]["iterations"] == 2 and made["role"]["max_tokens"] >= 1


@pytest.mark.slow
def test_a_cell_is_trained_and_counted(tiny_folder):
    tier = Tier(str(tiny_folder), {"sampling": {"width": 32, "trees": 2}, "threads": 1}, max_tokens={"games": 2})
    found = run_cell(Cell("games", "plan_path", "planner_executor"), tier)
    assert (found.problems, found.episodes, found.failed) == ((), 4, 0)
    assert list(found.roles) == ["planner", "executor"]
    for one in found.roles.values():
        assert 0 < one.unequal <= one.groups == 16  # two iterations, two trees, four turns
        assert one.parsed is not None and 0 < one.parsed < 1
        assert one.team is not None and 0.0 == one.team[0] <= one.team[1] <= 1.0
    assert json.loads(json.dumps(found.to_json()))["holds"] is True


def test_a_cell_that_cannot_be_run_says_why_and_does_not_hold():
    found = run_cell(Cell("games", "plan_path", "voting"), Tier("tiny-s:random", {}, max_tokens={"games": 2}))
    assert not found.holds and found.roles == {} and found.episodes == 0
    assert "Voting plays tasks that are Answerable" in found.problems[0]


@pytest.mark.parametrize(("problems", "code"), [((), 0), (("voter: 4 groups, all equal",), 1)])
def test_the_exit_code_tells_whether_all_cells_hold(monkeypatch, capsys, problems, code):
    def pretend(tier, only, *, seed, progress):
        progress(cell(*problems))
        return [cell(*problems)]

    monkeypatch.setattr("motet.matrix.run_matrix", pretend)
    assert run(["matrix", "--json"]) == code
    shown = capsys.readouterr()
    assert json.loads(shown.out)["cells"][0]["holds"] is (code == 0)
    assert "arithmetic voting: " in shown.err
    assert run(["matrix"]) == code
    assert f"{1 - code} of 1 cells hold" in capsys.readouterr().out


def test_a_mistake_on_the_command_line_is_exit_code_2(capsys):
    assert run(["matrix", "nowhere"]) == 2 and run(["matrix", "--tier", "nowhere"]) == 2
    assert "no cell is called 'nowhere'" in capsys.readouterr().err


def test_the_table_has_a_row_for_each_role_and_says_what_does_not_hold(capsys):
    both = CellFound(
        "games", "sudoku", "debate", {"debater": role(), "judge": role(unequal=0)}, 8, 1, 2.0, ("judge: x",)
    )
    show([cell(), both], "smoke")
    shown = capsys.readouterr().out
    assert [shown.count(word) for word in ("voter", "debater", "1/4", "DOES NOT HOLD")] == [1, 1, 2, 1]
    assert "sudoku debate: does not hold (2.0 s): judge: x" in shown and "1 of 2 cells hold" in shown
