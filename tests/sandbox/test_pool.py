"""The pool: warm, shared by threads, refilled, restarted, and gone without a trace."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from test_hostile import descendants

from motet.errors import SandboxError
from motet.sandbox import Limits, Sandbox, shared
from motet.sandbox import pool as pools


def test_many_threads_share_it_and_each_gets_its_own_answer(each: Sandbox):
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: each.run(f"print({n})").stdout, range(40)))
    assert found == [f"{n}\n" for n in range(40)]
    assert each.ready() == each.warm


def test_the_event_loop_goes_on_while_programs_run(sandbox: Sandbox):
    async def both():
        work = asyncio.create_task(sandbox.arun("import time; time.sleep(0.3); print('late')"))
        ticks = 0
        while not work.done():
            await asyncio.sleep(0.01)
            ticks += 1
        return ticks, (await work).stdout

    ticks, stdout = asyncio.run(both())
    assert ticks >= 5 and stdout == "late\n"


def test_waiting_for_a_turn_does_not_count_against_a_program(sandbox: Sandbox):
    nap = "import time; time.sleep(0.25)"
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda _: sandbox.run(nap, limits=Limits(wall_s=0.7)), range(6)))
    assert [ran.status for ran in found] == ["ok"] * 6  # two at a time: the last two would be at 0.75 s


def test_a_killed_keeper_is_replaced(sandbox: Sandbox):
    sandbox.ready()
    keeper = sandbox._pool._keeper
    assert keeper is not None
    keeper.process.send_signal(signal.SIGKILL)
    keeper.process.wait()
    assert sandbox.run("print(1)").stdout == "1\n"
    assert sandbox.ready() == sandbox.warm


@pytest.mark.parametrize("whom", ["inhabitants", "everybody"])
def test_a_cell_killed_from_outside_is_a_fault_of_the_sandbox_and_no_verdict(each: Sandbox, whom: str):
    each.ready()
    over, killed = threading.Event(), set[int]()

    def kill() -> None:
        while not over.wait(0.2):  # again and again: what was killed before its program began is begun anew
            keeper = each._pool._keeper
            family = below(keeper.process.pid) if keeper is not None else []
            for pid in family if whom == "everybody" else [pid for pid in family if below(pid) == [pid]]:
                killed.add(pid)
                with contextlib.suppress(ProcessLookupError):  # the kernel ends a family with its first member
                    os.kill(pid, signal.SIGKILL)

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(kill)
        try:
            with pytest.raises(SandboxError):
                each.run("import time; time.sleep(60)", limits=Limits(wall_s=60))
        finally:
            over.set()
            done.result()
    # a program begun in a cell that is just ending would be a fault again, and rightly
    assert _soon(lambda: not any(Path(f"/proc/{pid}/root").exists() for pid in killed))
    assert each.run("print(1)").stdout == "1\n"
    assert each.ready() == each.warm


@pytest.mark.parametrize("backend", ["bubblewrap", "namespaces", "none"])
def test_nothing_is_left_when_it_is_closed(backend):
    before, folders = descendants(os.getpid()), set(Path("/tmp").glob("motet-cell-*"))
    with Sandbox(backend=backend, parallel=1) as sandbox:
        try:
            sandbox.run("import os; open('x', 'w')")
        except SandboxError as problem:
            pytest.skip(problem.what)
    assert _soon(lambda: descendants(os.getpid()) <= before)
    assert _soon(lambda: set(Path("/tmp").glob("motet-cell-*")) <= folders)


@pytest.mark.parametrize("backend", ["bubblewrap", "namespaces", "none"])
def test_nothing_is_left_when_the_parent_is_killed(backend):
    program = (
        "from motet.sandbox import Sandbox, Limits\n"
        f"s = Sandbox(backend={backend!r}, parallel=1)\n"
        "s.ready(); print(s._pool._keeper.process.pid, flush=True)\n"
        "s.run('import time; time.sleep(60)', limits=Limits(wall_s=99))"
    )
    folders = set(Path("/tmp").glob("motet-cell-*"))
    parent = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert parent.stdout is not None
    first = parent.stdout.readline()
    if not first:
        parent.wait()
        pytest.skip(f"{backend} does not work here")
    time.sleep(0.3)
    assert descendants(parent.pid) >= 3
    keeper = int(first)
    family = below(keeper)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert _soon(lambda: not any(Path(f"/proc/{pid}/root").exists() for pid in family))
    assert _soon(lambda: set(Path("/tmp").glob("motet-cell-*")) <= folders)


def below(pid: int) -> list[int]:
    """`pid` and every process that descends from it."""
    found, seen = [pid], 0
    while seen < len(found):
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
                except OSError:
                    continue
                if parent == found[seen]:
                    found.append(int(entry.name))
        seen += 1
    return found


def _soon(true) -> bool:
    deadline = time.monotonic() + 60
    while not true() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(true())


def test_without_any_backend_it_is_refused_and_says_why_and_what_to_do(monkeypatch):
    monkeypatch.setattr(pools.backends, "unavailable", lambda name: "not allowed here")
    with pytest.raises(SandboxError, match="bubblewrap: not allowed here; namespaces: not allowed here") as caught:
        Sandbox().run("print(1)")
    assert "sandbox: none" in caught.value.fix


def test_bubblewrap_that_fails_falls_back_to_namespaces(monkeypatch, sandbox):
    try:
        Sandbox(backend="namespaces", parallel=1).backend  # noqa: B018
    except SandboxError as problem:
        pytest.skip(problem.what)
    monkeypatch.setattr(pools.backends, "_bubblewrap", lambda view, root: ["/bin/false"])
    monkeypatch.setattr(pools.backends, "unavailable", lambda name: None)
    with Sandbox(parallel=1) as other:
        assert other.backend == "namespaces"


def test_an_unknown_backend_is_refused_by_name():
    with pytest.raises(SandboxError, match="'docker'"):
        Sandbox(backend="docker").run("")  # type: ignore[arg-type]


def test_without_a_wall_a_program_runs_bounded_and_cannot_start_processes():
    with Sandbox(Limits(wall_s=1), backend="none", parallel=1) as bare:
        assert bare.backend == "none"
        ran = bare.run("import os; print(dict(os.environ), os.getcwd() != '/')")
        assert ran.stdout == "{} True\n"
        assert bare.run("import os; os.fork()").status == "error"
        assert bare.run("import socket; socket.socket()").status == "error"
        assert bare.run("while True: pass", limits=Limits(wall_s=0.3)).status == "timeout"
        assert bare.run("while True: pass", limits=Limits(wall_s=60, cpu_s=0.3)).status == "timeout"
        with pytest.raises(SandboxError, match="under none"):
            bare.run("", limits=Limits(fork=True))


def test_shared_gives_the_same_sandbox_each_time():
    assert shared() is shared()
    assert shared() is not shared("none")


def test_a_trivial_run_from_a_warm_pool_is_quick(sandbox: Sandbox):
    """The promise is 15 ms on a quiet machine (docs/sandbox.md); here only that it is no interpreter's start."""
    sandbox.ready()
    best = min(sandbox.run("print(1)").seconds for _ in range(10))
    assert best < 0.1
