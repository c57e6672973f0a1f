"""One cell: a process tree of its own for one program, with a watchman outside it.

    keeper --fork--> watchman (new namespaces, holds the leash) --fork--> inhabitant (first process of the cell)

The watchman is not visible to the inhabitant and holds the only descriptor on which a verdict is sent. The inhabitant
is process 1 of its namespace: when it ends, the kernel ends everything it started.
"""

from __future__ import annotations

import math
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

from motet.sandbox.inside import frames, kernel, program, seccomp, wall

_LINE = 3
_STACK_BYTES = 64 << 20
_READY, _RUNNING = frames.pack({"ready": True}), frames.pack({"running": True})
_PROCESSORS = len(os.sched_getaffinity(0))


@dataclass(frozen=True)
class Build:
    """How cells are built. `root`: the keeper has the rights of the machine's root and gives each cell its own user.

    `walled`: namespaces are used at all; False is `sandbox: none`. `hide_proc`: /proc is there and must be covered.
    """

    walled: bool
    root: bool
    hide_proc: bool
    disk_bytes: int
    with_fork: bytes
    without_fork: bytes


def make_build(config: dict[str, Any]) -> Build:
    """`Build` from the keeper's configuration, with both filters made once."""
    return Build(
        walled=config["walled"],
        root=config["root"],
        hide_proc=config["proc"],
        disk_bytes=config["disk_bytes"],
        with_fork=seccomp.build(kernel.machine, fork=True),
        without_fork=seccomp.build(kernel.machine, fork=False),
    )


def watch(build: Build, leash: int, line: int, out: int, err: int, user: int) -> None:
    """Become the watchman of a new cell: build it, wait for its end or for a pull on the leash, report, end.

    The leash brings {"cpu_s": bound} before the program and {"kill": true}, or closes, to end it. What is written to it
    is {"status", "cpu_s", "peak_kb", "by"}: `status` as `os.wait4` gives it; `by` is "leash" where the leash ended the
    cell, "cpu" where its first process spent its bound. A cell that cannot be built is told on `line` as
    {"fault": text}.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    place = ""
    try:
        place = _enter(build, user)
        inhabitant = os.fork()
    except OSError as problem:
        frames.send(line, {"fault": f"cannot build a cell: {problem}"})
        return
    if not inhabitant:
        os.close(leash)
        _inhabit(build, line, out, err, user, place)
    for fd in (line, out, err):
        os.close(fd)
    by = _until_ended(inhabitant, leash)
    _, status, usage = os.wait4(inhabitant, 0)
    if not build.walled:
        shutil.rmtree(place, ignore_errors=True)
    told = {"status": status, "cpu_s": usage.ru_utime + usage.ru_stime, "peak_kb": usage.ru_maxrss, "by": by}
    frames.send(leash, told)


def _until_ended(inhabitant: int, leash: int) -> str:
    """Wait for the end of the cell, and bring it about when the leash says so or the processor time is spent."""
    ended = os.pidfd_open(inhabitant)
    orders, bound, by = frames.Frames(1 << 10), math.inf, ""
    poll = select.poll()
    poll.register(leash, select.POLLIN)
    poll.register(ended, select.POLLIN)
    while True:
        left = bound - kernel.cpu_s(inhabitant)
        soon = None if bound == math.inf or by else max(left / _PROCESSORS * 1000, 0) + 2
        ready = [fd for fd, _ in poll.poll(soon)]
        spent = kernel.cpu_s(inhabitant) >= bound
        if ended in ready:  # looked at before the leash: what ended by itself was not ended by it
            return "cpu" if spent and not by else by
        if leash in ready:
            told = os.read(leash, 1 << 12)
            for order in orders.feed(told):
                bound = order.get("cpu_s", bound)
                by = by or ("leash" if "kill" in order else "")
            if not told:
                poll.unregister(leash)
                by = by or "leash"
        by = by or ("cpu" if spent else "")
        if by:
            os.kill(inhabitant, signal.SIGKILL)


def _enter(build: Build, user: int) -> str:
    """Step into the namespaces of the cell; its private folder."""
    if not build.walled:
        return tempfile.mkdtemp(prefix="motet-cell-")
    if build.root:
        kernel.unshare(kernel.NEWNS | kernel.NEWPID)
        owner = f",uid={user},gid={user}"
    else:
        outer_user, outer_group = os.getuid(), os.getgid()
        kernel.unshare(kernel.NEWUSER | kernel.NEWNS | kernel.NEWPID)
        wall.map_user(outer_user, outer_group)
        owner = ""
    flags = kernel.NOSUID | kernel.NODEV | kernel.NOEXEC
    kernel.mount("tmpfs", "/tmp", "tmpfs", flags, f"size={build.disk_bytes},nr_inodes=1024,mode=700{owner}")
    if build.hide_proc:
        kernel.mount("tmpfs", "/proc", "tmpfs", flags | kernel.RDONLY, "size=4k,nr_inodes=2,mode=555")
    return "/tmp"


def _inhabit(build: Build, line: int, out: int, err: int, user: int, place: str) -> None:
    """The trusted first steps of the cell's own process; the last one is the program."""
    try:
        os.setsid()
        _keep_only(line, out, err)
        os.umask(0o077)
        if build.walled and build.root:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        else:
            kernel.drop_capabilities()
        os.chdir(place)
        kernel.no_new_privileges()
        os.write(_LINE, _READY)
        job = frames.receive(_LINE)
        program.prepare(job)
        _limit(build, job["limits"])
        kernel.install_filter(build.with_fork if job["limits"]["fork"] else build.without_fork)
        os.write(_LINE, _RUNNING)
    except frames.FrameError:
        os._exit(0)  # nobody wants this cell any more
    except BaseException as problem:  # noqa: BLE001  whatever it is, it must be told and end this process
        frames.send(_LINE, {"fault": f"cannot prepare a cell: {type(problem).__name__}: {problem}"})
        os._exit(1)
    program.run(job, _LINE)


def _keep_only(line: int, out: int, err: int) -> None:
    held = [os.dup(fd) for fd in (line, out, err)]
    high = [os.dup2(fd, 200 + index) for index, fd in enumerate(held)]
    for fd, place in zip(high, (_LINE, 1, 2)):
        os.dup2(fd, place)
    os.closerange(_LINE + 1, 1024)
    sys.stdout = sys.stderr = sys.stdin = None  # type: ignore[assignment]


def _limit(build: Build, limits: dict[str, Any]) -> None:
    """Resource limits of each process of the cell. The stack may grow further than usual, for deep recursion."""
    bounds = {
        resource.RLIMIT_AS: limits["memory_bytes"],
        resource.RLIMIT_CPU: math.ceil(2 * limits["cpu_s"]) + 1,  # behind the watchman, and for processes it starts
        resource.RLIMIT_FSIZE: limits["file_bytes"],
        resource.RLIMIT_NOFILE: limits["open_files"],
        resource.RLIMIT_STACK: _STACK_BYTES,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_MEMLOCK: 0,
        resource.RLIMIT_MSGQUEUE: 0,
    }
    if build.walled:  # without a wall the count would be that of all of the user's processes
        bounds[resource.RLIMIT_NPROC] = limits["tasks"]
    for which, bound in bounds.items():
        _, hard = resource.getrlimit(which)
        bound = bound if hard == resource.RLIM_INFINITY else min(bound, hard)
        resource.setrlimit(which, (bound, bound))
