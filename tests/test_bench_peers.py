"""Peers: their numbers, and that one that is missing or fails is said by name and leaves no number."""

from __future__ import annotations

import json
import sys

import pytest
import torch

from motet.bench import Work, measure
from motet.bench_peers import PEERS, PeerError, start
from motet.bench_table import notes, row, show
from motet.cli.app import run

torch.set_num_threads(1)
SMALL = Work(
    num_prompts=2, num_candidates=3, prompt_tokens=4, new_tokens=2, vocab=5, hidden=8, intermediate=6, layers=1
)
READY = "say(versions={'peer': '1'}, settings={'batch': 8})"
GOOD = "say(seconds=2.0, cpu_seconds=1.0, completions=6, tokens=12)"
PROGRAM = """
import json, sys
def say(**record): print(json.dumps(record), flush=True)
{ready}
for number, line in enumerate(sys.stdin):
    {each}
"""


@pytest.fixture(autouse=True)
def small_roof(monkeypatch):
    monkeypatch.setattr("motet.bench_work.ROOF_SIZE", 16)
    monkeypatch.setattr("motet.bench_work.ROOF_COPY_BYTES", 4096)


def install(folder, **each):
    """A folder of peers made of three lines; `each` maps a name to what the peer does when an iteration is wanted."""
    programs = {}
    for name, what in each.items():
        ready, _, loop = what.rpartition("|")
        (folder / f"{name}.py").write_text(PROGRAM.format(ready=ready or READY, each=loop))
        programs[name] = f"{name}.py"
    (folder / "peers.json").write_text(json.dumps({"python": sys.executable, "programs": programs}))
    return folder


def measured(folder, runs=2):
    return measure(0.0, min_runs=runs, work=SMALL, peers=folder)


def test_rates_and_ratios_are_those_of_the_seconds_that_a_peer_reports(tmp_path):
    report = measured(install(tmp_path, trl=GOOD, comlrl=GOOD.replace("2.0", "4.0 + number")), runs=3)
    assert [report[f"trl.completions_per_s{end}"] for end in ("", ".low", ".high")] == [3.0, 3.0, 3.0]
    # rounds 1, 2, 3 took 5, 6 and 7 s; the one before them is not counted
    assert [report[f"comlrl.completions_per_s{end}"] for end in ("", ".low", ".high")] == [1.0, 6 / 7, 6 / 5]
    assert report["trl.processor_frac"] == 0.5 and report["trl.processor_s"] == 1.0
    for end, other in ((".low", ".low"), (".high", ".high"), ("", "")):
        assert report[f"trl.ratio{end}"] == pytest.approx(report[f"motet.completions_per_s{other}"] / 3.0)


def test_the_report_says_hardware_threads_load_versions_settings_and_the_work(tmp_path):
    report = json.loads(json.dumps(measured(install(tmp_path, trl=GOOD, comlrl=GOOD))))
    assert report["trl.versions"] == {"peer": "1"} and report["comlrl.settings"] == {"batch": 8}
    assert report["threads"] == 1 and len(report["load"]) == 2 and report["runs"] == 2
    assert report["work"]["prompt_tokens"] == 4 and report["work.gflop"] > 0 and report["work.gbyte"] > 0
    for name in ("motet.completions_per_s", "limit.share", "roof.gflop_per_s", "roof.gbyte_per_s", "trl.ratio"):
        assert 0 < report[f"{name}.low"] <= report[name] <= report[f"{name}.high"]
    assert {"hardware", "cores", "torch"} <= report.keys()


def test_a_peer_gets_the_same_weights_work_and_threads(tmp_path):
    each = (
        "arguments = dict(zip(sys.argv[1::2], sys.argv[2::2])); import os; "
        "say(versions=dict(os.environ), settings=arguments)|" + GOOD
    )
    install(tmp_path, trl=each)
    with start("trl", tmp_path, tmp_path / "model", SMALL, 3) as peer:
        assert json.loads(peer.settings["--work"])["prompt_tokens"] == 4
        assert peer.settings["--model"] == str(tmp_path / "model") and peer.settings["--threads"] == "3"
        assert peer.versions["OMP_NUM_THREADS"] == "3" and peer.versions["HF_HUB_OFFLINE"] == "1"
        assert peer.run() == (2.0, 1.0)


def numbers_of(name, report):
    return [key for key in report if key.startswith(f"{name}.") and key != f"{name}.missing"]


def test_a_peer_that_is_not_installed_is_said_by_name_and_leaves_no_number(tmp_path):
    report = measured(install(tmp_path, trl=GOOD), runs=1)
    assert "comlrl is not installed" in report["comlrl.missing"] and "tools/peers.py" in report["comlrl.missing"]
    assert numbers_of("comlrl", report) == [] and report["trl.completions_per_s"] == 3.0
    nowhere = measured(tmp_path / "nowhere", runs=1)
    assert all(f"{name} is not installed" in nowhere[f"{name}.missing"] for name in PEERS)
    assert nowhere["motet.completions_per_s"] > 0


FAULTS = {
    "dies at once": ("sys.exit('no such module')|pass", "trl ended; its last line: no such module"),
    "dies at work": ("sys.exit('out of memory')", "trl ended; its last line: out of memory"),
    "dies in a later round": (f"{GOOD} if number < 2 else sys.exit('late')", "trl ended; its last line: late"),
    "answers in prose": ("print('3 seconds', flush=True)", "no JSON"),
    "answers a list": ("print('[3]', flush=True)", "no object"),
    "leaves out a field": ("say(seconds=2.0)", "without a usable 'cpu_seconds'"),
    "says a word for a number": (GOOD.replace("2.0", "'fast'"), "without a usable 'seconds'"),
    "does too few": (GOOD.replace("=6", "=5"), "did other work: (5, 12)"),
    "stops early": (GOOD.replace("12", "11"), "did other work: (6, 11)"),
    "takes no time": (GOOD.replace("2.0", "0.0"), "did other work"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_peer_that_fails_is_said_by_name_and_leaves_no_number(tmp_path, fault):
    each, said = FAULTS[fault]
    report = measured(install(tmp_path, trl=each, comlrl=GOOD))
    assert said in report["trl.missing"] and numbers_of("trl", report) == []
    assert report["comlrl.completions_per_s"] == 3.0


def test_a_peer_that_never_answers_is_ended_and_said_by_name(tmp_path, monkeypatch):
    monkeypatch.setattr("motet.bench_peers.RUN_S", 0.2)
    monkeypatch.setattr("motet.bench_peers.END_S", 0.2)
    report = measured(install(tmp_path, trl="import time; time.sleep(60)", comlrl=GOOD), runs=1)
    assert "trl did not answer in 0 s" in report["trl.missing"] and numbers_of("trl", report) == []


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"python": 3, "programs": {}}', '{"python": "p", "programs": 3}'])
def test_a_manifest_that_cannot_be_read_is_an_error_with_a_way_out(tmp_path, text):
    (tmp_path / "peers.json").write_text(text)
    with (
        pytest.raises(PeerError, match=r"trl cannot be found.*tools/peers\.py"),
        start("trl", tmp_path, tmp_path, SMALL, 1),
    ):
        pass


def test_an_interpreter_that_is_not_there_is_an_error_with_a_way_out(tmp_path):
    install(tmp_path, trl=GOOD)
    (tmp_path / "peers.json").write_text(json.dumps({"python": "bin/python", "programs": {"trl": "trl.py"}}))
    with pytest.raises(PeerError, match="trl does not start"), start("trl", tmp_path, tmp_path, SMALL, 1):
        pass


def test_the_table_has_a_row_for_each_who_ran_and_a_line_for_each_who_did_not(tmp_path, capsys):
    report = measured(install(tmp_path, comlrl=GOOD), runs=1)
    show([report])
    shown = capsys.readouterr().out
    assert "comlrl" in shown and "no figure of trl: trl is not installed" in shown
    assert row("comlrl", report)[:3] == ("4", "comlrl", "3.0")
    assert row("motet", report)[4:6] == ("", "") and row("motet", report)[6].endswith("%")
    assert any("comlrl: peer 1; batch=8" in line for line in notes([report]))


def test_the_command_measures_each_prompt_length_and_writes_the_same_json_that_it_prints(tmp_path, capsys, monkeypatch):
    asked = []

    def fake(seconds, **found):
        asked.append((seconds, found["min_runs"], found["work"].prompt_tokens, found["threads"], found["peers"]))
        return {"motet.completions_per_s": 1.0, "limit.share": 0.5} | (
            {"trl.missing": "gone"} if found["peers"] else {}
        )

    monkeypatch.setattr("motet.bench.measure", fake)
    out = tmp_path / "bench.json"
    lengths = ["--prompt-tokens", "110", "--prompt-tokens", "512"]
    assert run(["bench", "--json", "--seconds", "1", "--threads", "2", *lengths, "--output", str(out)]) == 0
    assert asked == [(1.0, 5, 110, 2, None), (1.0, 5, 512, 2, None)]
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(out.read_text()) and printed["limit.share"] == 0.5 and len(printed["variants"]) == 2
    assert run(["bench", "--json", "--peers", str(tmp_path)]) == 1
    assert "variants" not in json.loads(capsys.readouterr().out)
