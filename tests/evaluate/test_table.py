from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from motet.evaluate.result import BestOf, Evaluation
from motet.evaluate.table import rows, show_table


def line(name, decoding, checkpoint, num_solved, tokens, calls, **more):
    solved = [index < num_solved for index in range(10)]
    return Evaluation.of_counts(name, decoding, checkpoint, "test", solved, tokens=tokens, calls=calls, **more)


LINES = [
    line("walker_greedy", "sampled", "base", 6, 0, 0),
    line("team", "greedy", "final", 9, 110, 22),
    line("team", "sampled", "base", 1, 90, 30),
    line("team", "sampled", "final", 8, 100, 20),
    replace(line("single", "sampled", "final", 5, 40, 10, role="planner"), best_of=BestOf(2, 0.7, 0.4, 0.9, 80, 20)),
]


def test_the_table_has_a_line_per_player_and_a_column_per_decoding_and_checkpoint():
    head, body = rows(LINES)
    assert head == ["", "base, sampled", "final, sampled", "final, greedy", "tokens/task", "calls/task"]
    assert body == [
        ["team", "10.0 [1.8, 40.4]", "80.0 [49.0, 94.3]", "90.0 [59.6, 98.2]", "10.0", "2.0"],
        ["single agent (planner)", "", "50.0 [23.7, 76.3]", "", "4.0", "1.0"],
        ["single agent, best of n (any try counts)", "", "70.0 [40.0, 90.0] n=2", "", "8.0", "2.0"],
        ["walker: greedy (no model)", "60.0 [31.3, 83.2]", "", "", "0", "0"],
    ]


def test_without_a_terminal_the_table_is_tab_separated_lines():
    out = io.StringIO()
    show_table(LINES[1:2], Console(file=out, width=40))
    assert out.getvalue().splitlines() == [
        "success in % [Wilson 95%] on 10 tasks of split test, one answer per call",
        "\tfinal, greedy\ttokens/task\tcalls/task",
        "team\t90.0 [59.6, 98.2]\t11.0\t2.2",
    ]


def test_on_a_terminal_the_table_is_ruled():
    out = io.StringIO()
    show_table(LINES, Console(file=out, force_terminal=True, width=140))
    assert "walker: greedy (no model)" in out.getvalue() and "─" in out.getvalue()


def test_no_evaluation_prints_nothing():
    out = io.StringIO()
    show_table([], Console(file=out))
    assert out.getvalue() == ""


def test_a_mixed_team_has_a_row_of_its_own():
    mixed = line("team", "sampled", "final", 3, 100, 20, role="planner=long@base")
    _, body = rows([LINES[3], mixed])
    assert [row[:2] for row in body] == [
        ["team", "80.0 [49.0, 94.3]"],
        ["team with planner=long@base", "30.0 [10.8, 60.3]"],
    ]
