"""Processes that do algebra are bounded, replaced when they die, and never silently wrong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from motet.errors import ConfigError, TaskError
from motet.tasks.answers import workers
from motet.tasks.answers.workers import PROBE, Workers, _Died

pytestmark = pytest.mark.slow  # processes that are killed and waited for

pytest.importorskip("math_verify")


@pytest.fixture
def pool():
    made = Workers(num=1, cpu_s=1)
    yield made
    made.close()


def test_a_question_that_does_not_end_is_stopped_and_the_next_is_answered(pool) -> None:
    assert pool.ask({"op": "same", "gold": "4", "given": r"9^{9^{9^{9}}}"}) in ("limit", "memory")
    assert pool.ask(PROBE) == "same"


def test_a_worker_that_was_killed_is_replaced(pool) -> None:
    assert pool.ask(PROBE) == "same"
    os.kill(pool._idle[0].process.pid, signal.SIGKILL)
    assert pool.ask(PROBE) == "same"


def test_a_worker_that_gets_no_time_is_an_error_and_no_verdict(pool) -> None:
    pool.ask(PROBE)
    stopped = pool._idle[0]
    stopped.wall_s = 0.05
    os.kill(stopped.process.pid, signal.SIGSTOP)
    with pytest.raises(_Died) as caught:
        stopped.ask(PROBE)
    assert caught.value.cause == "wall"


def test_workers_that_are_killed_from_outside_are_an_error_and_no_verdict(pool, monkeypatch) -> None:
    ask = workers.Worker.ask

    def killed(worker, question):
        if question is not PROBE:
            os.kill(worker.process.pid, signal.SIGKILL)
        return ask(worker, question)

    monkeypatch.setattr(workers.Worker, "ask", killed)
    with pytest.raises(TaskError, match="killed from outside"):
        pool.ask({"op": "same", "gold": "4", "given": "5"})


def test_a_busy_machine_changes_no_verdict(pool) -> None:
    """Three busy loops for each processor and a bound of 1 s: a question of less is answered, an endless one is not."""
    crowd = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * (os.cpu_count() or 1))]
    try:
        before = time.monotonic()
        verdicts = [pool.ask({"op": "same", "gold": r"\sqrt{13}", "given": rf"\sqrt{{{n}}}"}) for n in range(11, 15)]
        endless = pool.ask({"op": "same", "gold": "4", "given": r"9^{9^{9^{9}}}"})
        assert time.monotonic() - before > 1
    finally:
        for one in crowd:
            one.kill()
            one.wait()
    assert verdicts == ["different", "different", "same", "different"]
    assert endless in ("limit", "memory")


def test_odd_text_is_unreadable_and_harms_nothing() -> None:
    """Under the usual bound: the first two hundred brackets cost 2.4 s while the parser fills its tables."""
    pool = Workers(num=1)
    for text in ("", "\x00", "{" * 200, r"\input{/etc/passwd}", "__import__('os')", "\U0001f600" * 20):
        assert pool.ask({"op": "same", "gold": "4", "given": text}).split()[0] in ("unreadable", "different")
    assert pool.ask({"op": "equation", "gold": ["y", "x"], "given": ["", ""]}).startswith("unreadable")
    pool.close()


def test_the_worker_gets_nothing_of_the_environment(pool, monkeypatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "hidden")
    assert pool.ask(PROBE) == "same"
    with open(f"/proc/{pool._idle[0].process.pid}/environ", encoding="utf-8") as file:
        assert "hidden" not in file.read()


def test_without_math_verify_the_error_says_how_to_install_it(pool, monkeypatch, tmp_path) -> None:
    (tmp_path / "math_verify.py").write_text("raise ImportError('gone')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(ConfigError, match=r"math-verify is not installed.*motet\[math\]"):
        pool.ask(PROBE)


def test_a_worker_that_cannot_answer_a_plain_question_is_an_error_and_no_verdict(monkeypatch, tmp_path) -> None:
    broken = tmp_path / "child.py"
    broken.write_text("import sys; sys.exit(3)")
    monkeypatch.setattr(workers, "CHILD", broken)
    with pytest.raises(TaskError, match="plain question"):
        Workers(num=1).ask(PROBE)
