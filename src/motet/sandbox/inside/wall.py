"""The outer wall, where bubblewrap does not build it: new namespaces and a file system of what is named, read-only."""

from __future__ import annotations

import os
import signal

from motet.sandbox.inside import kernel

Op = tuple[str, str, str]
"""What the wall shows: ("bind", source, place), ("device", source, place), ("link", target, place), ("dir", "", place)
or ("proc", "", place)."""


def build(view: list[Op], *, root: bool) -> None:
    """Put this process behind a wall that shows `view` and no more, without network; return in a new first process.

    `root`: this process has the rights already; otherwise a user namespace gives them. The calling process stays
    outside, waits for the new one and ends as it ends.
    """
    user, group = os.getuid(), os.getgid()
    own = kernel.NEWNS | kernel.NEWPID | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS | kernel.NEWCGROUP
    kernel.unshare(own if root else own | kernel.NEWUSER)
    if not root:
        map_user(user, group)
    kernel.mount("none", "/", "", kernel.REC | kernel.PRIVATE)
    child = os.fork()
    if child:
        _wait_and_end(child)
    _show_only(view)


def map_user(user: int, group: int) -> None:
    """Name the one user of a new user namespace: 1000 inside, `user` outside."""
    for name, text in (("setgroups", "deny"), ("uid_map", f"1000 {user} 1"), ("gid_map", f"1000 {group} 1")):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _wait_and_end(child: int) -> None:
    """Hold nothing but the child; pass its end on."""
    os.closerange(0, 256)
    signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


def _show_only(view: list[Op]) -> None:
    kernel.mount("tmpfs", "/tmp", "tmpfs", kernel.NOSUID | kernel.NODEV, "size=1m,mode=755")
    os.mkdir("/tmp/old")
    os.mkdir("/tmp/new")
    kernel.pivot_root("/tmp", "/tmp/old")
    os.chdir("/")
    kernel.mount("tmpfs", "/new", "tmpfs", kernel.NOSUID | kernel.NODEV, "size=1m,mode=755")
    for kind, source, place in view:
        _show(kind, f"/old{source}" if kind in ("bind", "device") else source, f"/new{place}")
    kernel.read_only("/new")
    for kind, source, place in view:  # after the rest became read-only and lost its devices
        if kind == "device":
            kernel.mount(f"/old{source}", f"/new{place}", "", kernel.BIND)
        elif kind == "proc":
            kernel.mount("proc", f"/new{place}", "proc", kernel.NOSUID | kernel.NODEV | kernel.NOEXEC)
    kernel.unmount("/old")
    os.chdir("/new")
    kernel.pivot_root(".", ".")
    kernel.unmount(".")
    os.chdir("/")


def _show(kind: str, source: str, place: str) -> None:
    if kind in ("dir", "proc") or (kind == "bind" and os.path.isdir(source)):
        os.makedirs(place, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(place), exist_ok=True)
    if kind == "link":
        os.symlink(source, place)
    elif kind in ("bind", "device"):
        if not os.path.isdir(source):
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o444))
        if kind == "bind":
            kernel.mount(source, place, "", kernel.BIND | kernel.REC)
