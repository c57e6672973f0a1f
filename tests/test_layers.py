"""Imports go one way (`.importlinter`), and what promises to be light loads no torch."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_every_module_has_its_layer_and_imports_go_one_way():
    from importlinter.cli import lint_imports

    before = Path.cwd()
    os.chdir(ROOT)
    try:
        assert lint_imports(config_filename=str(ROOT / ".importlinter"), no_cache=True) == 0
    finally:
        os.chdir(before)


@pytest.mark.parametrize("module", ["motet.credit.assign", "motet.config", "motet.build", "motet.policies.cast"])
def test_credit_config_and_casts_load_without_torch(module):
    code = f"import sys, {module}; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
