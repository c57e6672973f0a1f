"""The list of planted faults fits the source: `make mutate` plants them, this only looks for their places."""

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FAULTS = runpy.run_path(str(ROOT / "tools" / "faults.py"))["FAULTS"]


def test_there_are_faults_of_every_kind_with_a_name_each():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 10
    folders = {fault.file.split("/")[0] for fault in FAULTS}
    assert folders >= {"credit", "rollout", "losses", "policies", "engines", "tasks", "evaluate"}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_place_of_a_fault_stands_once_in_the_source_and_its_tests_exist(fault):
    source = (ROOT / "src" / "motet" / fault.file).read_text(encoding="utf-8")
    assert source.count(fault.old) == 1 and fault.old != fault.new
    for test in fault.tests:
        path, _, name = test.partition("::")
        assert (ROOT / path).exists()
        assert f"def {name.partition('[')[0]}" in (ROOT / path).read_text(encoding="utf-8") if name else True
