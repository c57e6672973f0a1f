"""The peer programs and the script that installs them: no import of motet, exact versions, one manifest."""

from __future__ import annotations

import ast
import importlib.util
import io
import json
import re
import sys
from pathlib import Path

import pytest

from motet.bench_peers import MANIFEST, PEERS

TOOLS = Path(__file__).parents[1] / "tools"


def tool(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_peer_programs_import_nothing_of_motet():
    for path in TOOLS.glob("peer*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in getattr(node, "names", [])] + [getattr(node, "module", None) or ""]
            if isinstance(node, ast.Import | ast.ImportFrom):
                assert not any(name.split(".")[0] == "motet" for name in names), path


def test_every_package_of_the_peers_has_one_exact_version():
    pins = tool("peers").PINNED
    assert all(re.fullmatch(r"[a-z]+==[0-9.]+", pin) for pin in pins)
    assert {"torch", *PEERS} <= {pin.split("==")[0] for pin in pins}


def test_the_manifest_names_every_peer_and_its_program_lies_beside_it(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    tool("peers").install(tmp_path, packages=())
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert set(manifest["programs"]) == set(PEERS)
    assert all((tmp_path / program).is_file() for program in manifest["programs"].values())
    assert (tmp_path / "peer_protocol.py").is_file() and (tmp_path / manifest["python"]).exists()


@pytest.fixture
def protocol(monkeypatch):
    module = tool("peer_protocol")
    work = json.dumps({"vocab": 4, "prompt_tokens": 5})
    arguments = ["peer", "--model", "folder", "--work", work, "--threads", "1", "--set", "batch=8"]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(module, "_claim_stdout", io.StringIO)
    return module.Protocol()


def test_prompts_have_the_exact_length_differ_by_iteration_and_hold_no_unknown_word(protocol):
    first, second = protocol.prompts(0, 3), protocol.prompts(1, 3)
    assert first == protocol.prompts(0, 3) and first != second and len(set(first)) == 3
    words = [word for text in first for word in text.split()]
    assert len(words) == 15 and set(words) <= {"t1", "t2", "t3"} and protocol.tried == {"batch": 8}


def test_an_iteration_reports_seconds_completions_and_tokens(protocol, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("run\n"))
    protocol.wait()
    protocol.done([2, 2, 1])
    said = json.loads(protocol.out.getvalue())
    assert said["completions"] == 3 and said["tokens"] == 5 and said["seconds"] > 0 and said["cpu_seconds"] >= 0
