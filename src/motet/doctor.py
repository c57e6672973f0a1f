"""What this machine can run: python, torch, cores, instructions, memory, graphics card, and the optional parts."""

from __future__ import annotations

import importlib.util
import os
import platform
import time
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from motet.runs import hardware

Verdict = Literal["ok", "missing", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor: what was looked at, what was found, and what that allows."""

    subject: str
    found: str
    verdict: Verdict = "ok"
    meaning: str = ""


def free_threads(cores: int, load: float) -> int:
    """Threads to use: the cores that other processes leave free, at least one.

    Two threads beside a busy process wait for each other and are many times slower than one.

    >>> free_threads(2, 0.1), free_threads(2, 1.0), free_threads(8, 20.0)
    (2, 1, 1)
    """
    return max(1, cores - round(load))


def threads_to_use() -> int:
    """`free_threads` of this machine, now."""
    return free_threads(hardware()["cores"], os.getloadavg()[0])


def examine() -> list[Finding]:
    """Look at this machine; takes about two seconds, most of it the import of torch."""
    return [*_python(), *_processor(), *_torch(), *_optional()]


def _python() -> list[Finding]:
    is_new_enough = tuple(map(int, platform.python_version_tuple()[:2])) >= (3, 11)
    return [
        Finding(
            "python",
            platform.python_version(),
            "ok" if is_new_enough else "missing",
            "" if is_new_enough else "3.11 is needed",
        ),
        Finding("motet", metadata.version("motet")),
    ]


def _processor() -> list[Finding]:
    machine = hardware()
    cores, load = machine["cores"], os.getloadavg()[0]
    threads = free_threads(cores, load)
    flags = _cpu_flags()
    known = {"AVX2": "avx2", "AVX-512": "avx512f", "AMX": "amx_tile", "bf16": "avx512_bf16"}
    has = [name for name, flag in known.items() if flag in flags]
    return [
        Finding("processor", machine["processor"]),
        Finding("cores", f"{cores}, load {load:.1f}", meaning=f"a run would take {threads} threads"),
        Finding("instructions", ", ".join(has) or "none of " + ", ".join(known), "ok" if has else "note"),
        Finding("memory", f"{machine['memory_gib']} GiB", *_memory_verdict(machine["memory_gib"])),
    ]


def _memory_verdict(gib: float) -> tuple[Verdict, str]:
    if gib < 2:
        return "note", "too little for the demo"
    return "ok", "the demo needs 2, SmolLM2 with LoRA 6" if gib >= 6 else "the demo fits, SmolLM2 with LoRA does not"


def _cpu_flags() -> set[str]:
    info = Path("/proc/cpuinfo")
    if not info.is_file():
        return set()
    for line in info.read_text(encoding="utf-8").splitlines():
        if line.startswith(("flags", "Features")):
            return set(line.partition(":")[2].split())
    return set()


def _torch() -> list[Finding]:
    if importlib.util.find_spec("torch") is None:
        return [Finding("torch", "not installed", "missing", "nothing can be trained")]
    import torch

    findings = [Finding("torch", torch.__version__, meaning=f"kernels for {torch.backends.cpu.get_cpu_capability()}")]
    for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        findings.append(Finding(f"matrix product {name}", f"{_gflops(dtype):.0f} GFLOP/s", meaning="1024 x 512 x 512"))
    if torch.cuda.is_available():
        total = torch.cuda.get_device_properties(0).total_memory / 2**30
        findings.append(Finding("graphics card", f"{torch.cuda.get_device_name(0)}, {total:.0f} GiB"))
    else:
        findings.append(Finding("graphics card", "none", "note", "runs use the processor"))
    return findings


def _gflops(dtype: object) -> float:
    """The speed of one matrix product, best of five."""
    import torch

    left, right = torch.ones(1024, 512, dtype=dtype), torch.ones(512, 512, dtype=dtype)  # type: ignore[call-overload]
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        left @ right
        best = min(best, time.perf_counter() - start)
    return 2 * 1024 * 512 * 512 / best / 1e9


def _optional() -> list[Finding]:
    parts = {
        "transformers": "models",
        "peft": "LoRA policies",
        "gguf": "the smollm2 base (extra: gguf)",
        "matplotlib": "figures (extra: plots)",
        "ray": "more than one machine",
        "vllm": "the vllm engine",
    }
    findings = []
    for package, use in parts.items():
        if importlib.util.find_spec(package) is None:
            findings.append(Finding(package, "not installed", "note", f"needed for {use}"))
        else:
            try:
                version = metadata.version(package)
            except metadata.PackageNotFoundError:
                version = "installed"
            findings.append(Finding(package, version, meaning=use))
    return findings
