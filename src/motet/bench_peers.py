"""Other trainers on the same work: each runs as a program of its own in an environment of its own.

`tools/peers.py install FOLDER` makes the environment and writes FOLDER/peers.json: the interpreter and, for each peer,
its program. A peer and `motet bench` speak one JSON object a line (tools/peer_protocol.py).
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from motet.bench_work import Work
from motet.errors import MotetError

PEERS = ("trl", "comlrl")
MANIFEST = "peers.json"
START_S, RUN_S, END_S = 300.0, 1800.0, 5.0
HOW = "run `python tools/peers.py install FOLDER` in a checkout of motet, and give that FOLDER"
_SHOWN = 300


class PeerError(MotetError):
    """A peer is not installed, does not start, fails, answers too late or does other work."""


class Peer:
    """A running peer: `versions` and `settings` as it says them, `run` for one iteration."""

    def __init__(self, name: str, process: subprocess.Popen[str], errors: IO[bytes], work: Work) -> None:
        self.name, self.work = name, work
        self._process, self._errors = process, errors
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        ready = self._answer(START_S)
        self.versions: dict[str, str] = self._field(ready, "versions", dict)
        self.settings: dict[str, Any] = self._field(ready, "settings", dict)

    def run(self) -> tuple[float, float]:
        """One iteration: its seconds, and the processor seconds it had.

        Raises `PeerError` where the peer failed, or where it made other than all completions of the work with exactly
        its new tokens: a rate of other work is no rate.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("run\n")
            self._process.stdin.flush()
        except OSError as error:
            raise self._failed("ended") from error
        found = self._answer(RUN_S)
        seconds, cpu = (float(self._field(found, key, (int, float))) for key in ("seconds", "cpu_seconds"))
        did = tuple(self._field(found, key, int) for key in ("completions", "tokens"))
        wanted = (self.work.num_rows, self.work.num_rows * self.work.new_tokens)
        if did != wanted or not seconds > 0:
            raise self._failed(f"did other work: {did} completions and tokens in {seconds:.3g} s, not {wanted}")
        return seconds, cpu

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put("")

    def _answer(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise self._failed(f"did not answer in {seconds:.0f} s") from None
        if not line:
            raise self._failed("ended")
        try:
            found = json.loads(line)
        except ValueError as error:
            raise self._failed(f"said {line[:_SHOWN]!r}, which is no JSON") from error
        if not isinstance(found, dict):
            raise self._failed(f"said {line[:_SHOWN]!r}, which is no object")
        return found

    def _field(self, found: dict[str, Any], key: str, kind: Any) -> Any:
        value = found.get(key)
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self._failed(f"said {str(found)[:_SHOWN]}, without a usable {key!r}")
        return value

    def _failed(self, what: str) -> PeerError:
        """The error, with the last line that the peer wrote to standard error."""
        self._errors.seek(0)
        written = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return PeerError(f"{self.name} {what}" + (f"; its last line: {written[-1][:_SHOWN]}" if written else ""))


@contextmanager
def start(name: str, folder: Path, model: Path, work: Work, threads: int) -> Iterator[Peer]:
    """The peer `name` from the environment in `folder`, on the model in the folder `model`, ended on the way out."""
    command = [*_command(name, folder), "--model", str(model), "--work", json.dumps(asdict(work))]
    command += ["--threads", str(threads)]
    quiet = {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    quiet |= {"WANDB_MODE": "disabled", "PYTHONPATH": ""}
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
                errors="replace",
                env=os.environ | quiet,
            )
        except OSError as error:
            raise PeerError(f"{name} does not start: {error}", where={"folder": folder}, fix=HOW) from error
        try:
            yield Peer(name, process, errors, work)
        finally:
            _end(process)


def _command(name: str, folder: Path) -> list[str]:
    where: dict[str, object] = {"folder": folder}
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PeerError(f"{name} is not installed: there is no {MANIFEST}", where=where, fix=HOW) from None
    except (OSError, ValueError) as error:
        raise PeerError(f"{name} cannot be found: {MANIFEST} cannot be read ({error})", where=where, fix=HOW) from error
    programs = manifest.get("programs") if isinstance(manifest, dict) else None
    if not isinstance(programs, dict) or not isinstance(manifest.get("python"), str):
        raise PeerError(f"{name} cannot be found: {MANIFEST} names no python and programs", where=where, fix=HOW)
    if not isinstance(programs.get(name), str):
        raise PeerError(f"{name} is not installed: {MANIFEST} does not name it", where=where, fix=HOW)
    return [str(folder / manifest["python"]), str(folder / programs[name])]


def _end(process: subprocess.Popen[str]) -> None:
    """Asks by closing its input, then ends it."""
    assert process.stdin is not None
    with suppress(OSError):  # it has ended with a line unread
        process.stdin.close()
    try:
        process.wait(END_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
