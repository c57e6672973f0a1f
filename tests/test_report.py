from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest
import yaml

from motet.evaluate.result import Evaluation, make_result
from motet.evaluate.scenes import Grid
from motet.report import write_report
from motet.report.curves import curves, others, series_of
from motet.report.page import render
from motet.report.picture import draw
from motet.report.plot import Mark, Series, interval_plot, line_plot
from motet.runs import RunFolder
from motet.tasks.plan_path import PlanPathTask
from motet.types import Call, CallKey, Candidate, Episode, Outcome

EVIL = "<script>alert(1)</script>\"'&"


class Tags(HTMLParser):
    """Every tag with its attributes; checks that what is opened is closed."""

    VOID = frozenset({"meta", "line", "circle", "rect", "path", "polyline", "br", "i"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def line(name, decoding, checkpoint, num, **more):
    solved = [index < num for index in range(10)]
    return Evaluation.of_counts(name, decoding, checkpoint, "test", solved, tokens=50, calls=20, **more)


def episode(*texts: str, solved: bool = True) -> Episode:
    calls = tuple(
        Call(CallKey(role, 0, 0), role, 0, "t", (1,), (Candidate(text, (1,), (0.0,), "eos"),), 0)
        for role, text in zip(("planner", "executor"), texts)
    )
    return Episode("plan_path", f"task {EVIL}", "test", "eval", 0, 0, 0, calls, Outcome(solved, 1.0))


@pytest.fixture
def page() -> str:
    task = PlanPathTask("t", 3, (4,), (4,), 0, 8, 4, 8)
    config = {
        "settings": {
            "description": EVIL,
            "model": "tiny-m",
            "cast": {"planner": "scout", "executor": "walker"},
            "policies": {"scout": {"kind": "lora", "rank": 4}, "walker": {"kind": "full", "base": "tiny-l"}},
        }
    }
    metrics = [
        {
            "iteration": i,
            "rollout/success": i / 10,
            "rollout/episodes": 8,
            "rollout/tokens": 100,
            f"reward/team/{EVIL}": 0.5,
            "update/kl/planner": 0.1,
        }
        for i in range(1, 6)
    ]
    metrics.append({"iteration": 5, "validation/success/greedy": 0.5})
    result = make_result(
        [
            line("team", "sampled", "base", 1),
            line("team", "sampled", "final", 9),
            line("walker_greedy", "sampled", "base", 6),
        ],
        train_seconds=125.0,
        seed=4,
        settings_hash="abc",
        versions={"motet": "0.1"},
        hardware={"cores": 2},
    )
    return render(f"run {EVIL}", config, metrics, result, [(task, episode(EVIL, "c1 c2 c5 c8"))], "shown")


def test_nothing_that_came_from_outside_becomes_markup(page):
    tags = [tag for tag, _ in Tags(page).seen]
    assert "script" not in tags and EVIL not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 5  # name, description, series, task, what was said


def test_the_page_loads_nothing_from_anywhere(page):
    for tag, attributes in Tags(page).seen:
        assert not {"src", "href", "xlink:href", "srcset"} & set(attributes), tag
    assert not re.search(r"https?:|url\(|@import", page)
    assert "default-src 'none'" in page


def test_the_page_tells_success_time_seed_and_who_speaks(page):
    for text in (
        "90.0%",
        "95% interval 59.6 to 98.2; base 10.0%",
        "2:05",
        "500 tokens sampled",
        "lora, rank 4",
        "tiny-l",
    ):
        assert text in page
    assert "90.0 [59.6, 98.2]" in page and "walker: greedy" in page and "4 steps, at the goal" in page


def test_a_run_that_left_nothing_yet_still_has_a_page(tmp_path):
    path = write_report(RunFolder(tmp_path))
    assert path == tmp_path / "report.html"
    assert "Final evaluation" not in path.read_text() and Tags(path.read_text()).seen


def test_the_page_is_written_from_the_files_of_a_run(tmp_path):
    folder = RunFolder(tmp_path)
    folder.config.write_text(yaml.safe_dump({"settings": {"description": "hello", "cast": {"a": "b"}}}))
    folder.metrics.write_text('{"schema": 1}\n{"iteration": 1, "rollout/success": 0.25}\n')
    result = make_result(
        [line("team", "greedy", "final", 5)], train_seconds=1, seed=0, settings_hash="", versions={}, hardware={}
    )
    folder.result.write_text(json.dumps(result))
    page = write_report(folder).read_text()
    assert "hello" in page and "50.0%" in page and "success while training" in page


def test_a_line_goes_through_its_points():
    """Axes of 462 x 204 behind margins (46, 12): x 0 and 10 at the ends, y 0 to 1."""
    plot = line_plot([Series("a", ((0, 0.0), (10, 1.0)))], title="t", y_range=(0, 1))
    assert 'class="line s0" d="M46.0,216.0L508.0,12.0"' in plot


def test_points_that_are_no_numbers_are_left_out_and_no_point_is_no_plot():
    plot = line_plot([Series("a", ((0, float("nan")), (1, 0.5), (2, 1.0)))], title="t", y_range=(0, 1))
    assert "nan" not in plot and plot.count("L508.0,12.0") == 1
    assert line_plot([Series("a", ((0, float("inf")),))], title="t") == "" == line_plot([], title="t")


def test_a_constant_and_a_single_point_can_be_drawn():
    assert "circle" in line_plot([Series("a", ((3, 2.0),))], title="t")
    Tags(line_plot([Series("a", ((1, -1.0), (2, -1.0)))], title="t"))


def test_a_band_runs_along_highs_and_back_along_lows():
    plot = line_plot([Series("a", ((0, 0.5), (1, 0.5)), lows=(0.0, 0.0), highs=(1.0, 1.0))], title="t", y_range=(0, 1))
    assert 'class="band s0" d="M46.0,12.0L508.0,12.0L508.0,216.0L46.0,216.0Z"' in plot


def test_an_interval_is_drawn_from_low_to_high_with_its_numbers():
    """The axis runs from 232 to 606."""
    plot = interval_plot([("team", [Mark(0.5, 0.25, 0.75)])], title="t", keys=["final"])
    assert 'x1="325.5" x2="512.5"' in plot and 'cx="419.0"' in plot
    assert "team, final: 50.0% [25.0, 75.0]" in plot


def test_metrics_of_one_quantity_share_a_chart_and_none_is_lost():
    metrics = [{"iteration": 1, "reward/team/a": 0.1, "reward/team/b": 0.2, "x/y/a": 1.0, "x/y/b": 2, "note/z": "text"}]
    assert [(one.name, one.points) for one in series_of(metrics, "reward/team")] == [
        ("a", ((1.0, 0.1),)),
        ("b", ((1.0, 0.2),)),
    ]
    assert len(curves(metrics)) == 1 and len(others(metrics)) == 1
    assert "x/y" in others(metrics)[0]


def test_task_sets_have_lines_of_their_own_in_the_chart_of_success():
    metrics = [{"iteration": 1, "rollout/success": 0.5, "rollout/success/sums": 1.0, "rollout/success/grids": 0.0}]
    assert [(one.name, one.points) for one in series_of(metrics, "rollout/success")] == [
        ("training", ((1.0, 0.5),)),
        ("training, sums", ((1.0, 1.0),)),
        ("training, grids", ((1.0, 0.0),)),
    ]


def test_a_grid_is_drawn_with_walk_proposal_and_bump():
    picture = draw(Grid(2, (3,), 0, 1, 0, trail=(0,), steps=(0, 2), proposal=(0, 1), bump=(2, 3), unmapped=(3,)))
    assert 'class="wall unmapped" x="16.5" y="16.5"' in picture
    assert 'class="steps" points="8,8 8,24"' in picture
    assert 'class="proposal" points="10.5,10.5 26.5,10.5"' in picture
    assert 'class="bump" d="M20.0,20.0l8,8m0,-8l-8,8"' in picture
    assert "trail" not in picture
