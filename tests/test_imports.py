import subprocess
import sys
import time

import pytest


def fresh(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_motet_takes_under_300_ms_and_loads_neither_torch_nor_numpy():
    code = (
        "import sys, time; start = time.perf_counter(); import motet; took = time.perf_counter() - start\n"
        "print(took, [name for name in ('torch', 'numpy', 'transformers', 'pydantic') if name in sys.modules])"
    )
    took, loaded = min(fresh(code).split(maxsplit=1) for _ in range(3))
    assert float(took) < 0.3 and loaded.strip() == "[]"


@pytest.mark.parametrize(
    "module", ["config", "runs", "tracking", "build", "cli.app", "credit.assign", "workflows.base"]
)
def test_what_needs_no_model_imports_no_torch(module):
    assert fresh(f"import motet.{module}, sys; print('torch' in sys.modules)").strip() == "False"


def test_every_name_of_the_front_door_opens():
    import motet

    for name in motet.__all__:
        assert getattr(motet, name) is not None
    assert set(motet.__all__) <= set(dir(motet))
    with pytest.raises(AttributeError, match="no attribute 'trane'"):
        getattr(motet, "trane")  # noqa: B009


def test_help_answers_without_torch():
    start = time.perf_counter()
    code = "import sys; from motet.cli.app import run; run(['--help']); print('torch' in sys.modules)"
    assert fresh(code).strip().endswith("False")
    assert time.perf_counter() - start < 3
