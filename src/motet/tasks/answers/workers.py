"""Processes that do algebra and can be killed. Callable from any thread; no signal of this process is touched."""

from __future__ import annotations

import atexit
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from motet.errors import ConfigError, TaskError

CHILD = Path(__file__).with_name("child.py")
PROBE = {"op": "same", "gold": r"\sqrt{2}^2", "given": "2"}


_STEP_S = 1.0


class _Died(Exception):
    """The process ended. `cause`: `cpu`, its share of the processor was spent; `wall`, it was given none; `killed`, by
    somebody else; `end`, by itself."""

    def __init__(self, cause: str) -> None:
        super().__init__()
        self.cause = cause


def _used_s(pid: int) -> float:
    """Processor time of another process to the nanosecond; 0 where the system does not tell (the process's own bound,
    which goes by samples, holds there alone)."""
    return time.clock_gettime(~pid << 3 | 2) if sys.platform == "linux" else 0.0


class Worker:
    """One process. Its processor time per question is measured and bounded from here, as is its wall time; its memory
    is bounded by the kernel. Its start counts towards no question.

    It starts with the import path of this process and no other variable of its environment.
    """

    def __init__(self, cpu_s: float, wall_s: float, memory_mb: int) -> None:
        self.cpu_s, self.wall_s, self._started = cpu_s, wall_s, False
        command = [sys.executable, "-P", str(CHILD), str(math.ceil(cpu_s)), str(memory_mb * 2**20)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "0"},
            start_new_session=True,
        )

    def ask(self, question: dict[str, Any]) -> str:
        """The verdict of the process; raises `_Died` and kills it where none comes."""
        if not self._started:
            self._read(math.inf)
            self._started = True
        assert self.process.stdin
        bound = _used_s(self.process.pid) + self.cpu_s
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise self._end() from None
        return self._read(bound)

    def _read(self, bound: float) -> str:
        """The next line, before the process has used `bound` seconds of a processor in all."""
        assert self.process.stdout
        line, deadline = b"", time.monotonic() + self.wall_s
        poller = select.poll()
        poller.register(self.process.stdout, select.POLLIN | select.POLLHUP)
        while not line.endswith(b"\n"):
            left = bound - _used_s(self.process.pid)
            spent, late = left <= 0, time.monotonic() >= deadline
            if not poller.poll(0 if spent or late else 1000 * min(left, deadline - time.monotonic(), _STEP_S) + 1):
                if spent or late:  # and nothing waits to be read
                    raise self._end("cpu" if spent else "wall")
                continue
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                raise self._end()
            line += chunk
        return str(json.loads(line))

    def _end(self, cause: str = "") -> _Died:
        """Why it ended; ends it for `cause`, where that is given."""
        if not cause:  # it closed its pipes, so it is ending
            try:
                code = self.process.wait(timeout=self.wall_s)
            except subprocess.TimeoutExpired:
                code = 0
            cause = {-signal.SIGXCPU: "cpu", -signal.SIGKILL: "killed"}.get(code, "end")
        self.close()
        return _Died(cause)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except BrokenPipeError:
                    continue


class Workers:
    """A pool of at most `num` workers, started when they are first needed.

    `ask` gives `same`, `different`, `unreadable ...`, `memory` or `limit`. A question that spends its processor time,
    its memory, or that kills its process twice while a plain question is answered in between, is the question's own
    fault and gets `limit`. Processor time is measured, so a busy machine changes no verdict. A worker that cannot
    answer a plain question, that gets no verdict in `wall_s` seconds, or that is killed twice from outside is a fault
    of the machine: a `TaskError`.
    """

    def __init__(self, num: int = 2, cpu_s: float = 5, wall_s: float = 600.0, memory_mb: int = 2048) -> None:
        self.num, self._limits, self._pid = num, (cpu_s, wall_s, memory_mb), os.getpid()
        self._free = threading.Semaphore(num)
        self._lock, self._idle = threading.Lock(), list[Worker]()

    def ask(self, question: dict[str, Any]) -> str:
        with self._free:
            causes = []
            for _ in range(2):
                worker = self._take()
                try:
                    verdict = worker.ask(question)
                except _Died as died:
                    if died.cause == "cpu":
                        return "limit"
                    causes.append(died.cause)
                    continue
                except BaseException:
                    worker.close()
                    raise
                with self._lock:
                    self._idle.append(worker)
                return verdict
            if "wall" in causes:
                fix = "run fewer things on this machine at once"
                raise TaskError(f"no verdict in {self._limits[1]} s of a checking process", fix=fix)
            if causes == ["killed", "killed"]:
                raise TaskError("checking processes are killed from outside", fix="is this machine out of memory?")
            return "limit"

    def _take(self) -> Worker:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        worker = Worker(*self._limits)
        try:
            verdict = worker.ask(PROBE)
        except _Died:
            verdict = "no answer"
        if verdict == "same":
            return worker
        worker.close()
        if verdict.startswith("missing"):
            raise ConfigError(f"math-verify is not installed ({verdict})", fix='pip install "motet[math]"')
        raise TaskError(
            f"a checking process said {verdict!r} to a plain question", fix="look for a machine short of memory or time"
        )

    def close(self) -> None:
        """End the idle workers; in a forked process, leave those of the parent alone."""
        with self._lock:
            idle, self._idle = self._idle if os.getpid() == self._pid else [], []
        for worker in idle:
            worker.close()


_shared: Workers | None = None
_shared_lock = threading.Lock()


def shared() -> Workers:
    """The pool of this process."""
    global _shared
    with _shared_lock:
        if _shared is None:
            _shared = Workers()
            atexit.register(_shared.close)
        return _shared


def _forget() -> None:
    """A forked process must not talk to the workers of its parent."""
    global _shared, _shared_lock
    _shared, _shared_lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
