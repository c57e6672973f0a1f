import json
import subprocess
import sys
from pathlib import Path

import pytest

from motet.config import load, resolve, settings_hash
from motet.errors import CheckpointError, ConfigError
from motet.runs import create, find, hardware, latest, versions, write_result


@pytest.fixture
def settings():
    return resolve(load("smoke"), {"planner": 1, "executor": 1})


def test_case_32_a_second_run_of_a_name_gets_the_next_number_and_the_first_is_untouched(tmp_path, settings):
    first = create(tmp_path, "demo")
    first.write_config(settings)
    before = first.config.read_bytes()
    assert [create(tmp_path, "demo").name for _ in range(3)] == ["demo-2", "demo-3", "demo-4"]
    assert first.config.read_bytes() == before


def test_resuming_takes_the_newest_run_of_exactly_that_name(tmp_path):
    for name in ("demo", "demo-2", "demo-10", "demo-9", "demolition-11", "demo-2-b"):
        (tmp_path / name).mkdir()
    assert latest(tmp_path, "demo").name == "demo-10"
    with pytest.raises(CheckpointError, match="no run 'other' to resume"):
        latest(tmp_path, "other")


def test_a_config_comes_back_as_it_was_written_with_hash_versions_and_hardware(tmp_path, settings):
    folder = create(tmp_path, "demo")
    folder.write_config(settings)
    assert folder.read_config() == settings
    text = folder.config.read_text()
    assert settings_hash(settings) in text and "torch" in text and "memory_gib" in text


def test_a_config_changed_by_hand_is_refused(tmp_path, settings):
    folder = create(tmp_path, "demo")
    folder.write_config(settings)
    folder.config.write_text(folder.config.read_text().replace("seed: 0", "seed: 5"))
    with pytest.raises(CheckpointError, match="changed after the run was started"):
        folder.read_config()


def test_no_secret_is_written(tmp_path, settings, monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "very-secret-value")
    task = settings.tasks[0].model_copy(update={"settings": {"hub_token": "abc", "note": "very-secret-value"}})
    folder = create(tmp_path, "demo")
    folder.write_config(settings.model_copy(update={"tasks": [task]}))
    write_result(folder, {"note": ["very-secret-value"]})
    written = folder.config.read_text() + folder.result.read_text()
    assert "very-secret-value" not in written and "abc" not in written.split("settings_hash")[1].split("versions")[0]
    assert json.loads(folder.result.read_text()) == {"note": ["<redacted>"]}


def test_two_processes_do_not_write_one_run(tmp_path):
    folder = create(tmp_path, "demo")
    code = (
        "import sys; from pathlib import Path; from motet.runs import RunFolder; from motet.errors import ConfigError\n"
        "try:\n"
        "    with RunFolder(Path(sys.argv[1])).lock(): print('taken')\n"
        "except ConfigError as error: print(error)\n"
    )

    def other():
        done = subprocess.run(
            [sys.executable, "-c", code, str(folder.path)], capture_output=True, text=True, check=True
        )
        return done.stdout

    with folder.lock():
        assert "run 'demo' is being written by another process" in other()
    assert other() == "taken\n"


def test_a_run_is_found_by_folder_or_by_name_and_a_wrong_one_names_what_is_there(tmp_path, settings, monkeypatch):
    folder = create(tmp_path / "runs", "demo")
    folder.write_config(settings)
    assert find(tmp_path / "runs", "demo").path == find(Path("elsewhere"), str(folder.path)).path == folder.path
    with pytest.raises(CheckpointError, match="runs here: demo"):
        find(tmp_path / "runs", "dmeo")


def test_what_a_run_resolved_is_kept_and_a_changed_machine_is_noticed(tmp_path, settings):
    folder = create(tmp_path, "demo")
    folder.write_config(settings, engine={"threads": 1})
    assert "engine:\n  threads: 1\n" in folder.config.read_text()
    assert folder.read_config() == settings and folder.moved() == []
    folder.config.write_text(folder.config.read_text().replace(f"python: {versions()['python']}", "python: 3.0.0"))
    assert folder.moved() == [f"python 3.0.0 -> {versions()['python']}"]


def test_versions_and_hardware_name_what_changes_a_result_and_not_the_host():
    assert {"python", "motet", "torch", "transformers"} <= set(versions())
    assert set(hardware()) == {"system", "machine", "processor", "cores", "memory_gib"}


def test_a_lock_held_in_this_process_is_refused_too(tmp_path):
    folder = create(tmp_path, "demo")
    with folder.lock(), pytest.raises(ConfigError), folder.lock():
        pass
