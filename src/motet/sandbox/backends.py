"""Builds the wall around the keeper: with bubblewrap, with the kernel's namespaces alone, or not at all."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from motet.errors import SandboxError
from motet.sandbox.inside import seccomp

BackendName = Literal["auto", "bubblewrap", "namespaces", "none"]
Op = tuple[str, str, str]

_INSIDE = str(Path(__file__).with_name("inside"))
_USERS = (61184, 4096)
"""First and number of the user ids given to cells when the sandbox runs as root: one each, none a real user's."""

_RIGHTS = 1 << 5 | 1 << 6 | 1 << 7 | 1 << 21
"""CAP_KILL, CAP_SETGID, CAP_SETUID, CAP_SYS_ADMIN."""

_BOOT = (
    "import sys, types\n"
    "for name, path in (('motet', []), ('motet.sandbox', []), ('motet.sandbox.inside', [{inside!r}])):\n"
    "    module = sys.modules[name] = types.ModuleType(name)\n"
    "    module.__path__ = path\n"
    "from motet.sandbox.inside import keeper\n"
    "keeper.main({fd})\n"
)


@dataclass(frozen=True)
class Start:
    """How to start a keeper: the command line and the first message it is sent."""

    command: list[str]
    config: dict[str, Any]


def candidates(name: BackendName) -> list[str]:
    """The backends to try, best first. Raises `SandboxError` where `name` is none."""
    if name not in get_args(BackendName):
        raise SandboxError(f"sandbox is {name!r}", fix=f"one of {', '.join(get_args(BackendName))}")
    return ["bubblewrap", "namespaces"] if name == "auto" else [name]


def unavailable(name: str) -> str | None:
    """Why this backend cannot even be tried here, or None."""
    if sys.platform != "linux" or not seccomp.supported(platform.machine()):
        return f"needs Linux on x86_64 or aarch64, this is {sys.platform} on {platform.machine()}"
    if name != "none" and _interpreter().startswith("/tmp/"):
        return "the interpreter lies below /tmp, which every program covers with its own; move it"
    if name == "bubblewrap" and shutil.which("bwrap") is None:
        return "the program bwrap is not installed"
    return None


def start(name: str, fd: int, *, disk_mb: int, paths: tuple[str, ...], preload: tuple[str, ...]) -> Start:
    """Command and configuration of a keeper that speaks on descriptor `fd`."""
    root = has_root()
    walled = name != "none"
    view = _view(paths, proc=not root) if walled else None
    config = {
        "walled": walled,
        "root": root and walled,
        "proc": walled and not root,
        "disk_bytes": disk_mb << 20,
        "paths": _places(paths) if walled else list(paths),
        "preload": list(preload),
        "view": view if name == "namespaces" else None,
    }
    inside = "/inside" if name == "bubblewrap" else _INSIDE
    python = [_interpreter(), "-B", "-s", "-S", "-P", "-X", "utf8", "-c", _BOOT.format(inside=inside, fd=fd)]
    return Start(_bubblewrap(view, root=root) + python if name == "bubblewrap" and view else python, config)


def has_root() -> bool:
    """Whether this process is root, with root's rights to build namespaces and to take on the user ids of cells.

    Without those, and for every other user, a user namespace gives the rights that are needed.
    """
    if os.geteuid() != 0:
        return False
    with open("/proc/self/status") as file:
        held = next(int(row.split()[1], 16) for row in file if row.startswith("CapEff"))
    if held & _RIGHTS != _RIGHTS:
        return False
    with open("/proc/self/uid_map") as file:
        ranges = [tuple(map(int, row.split())) for row in file]
    first, count = _USERS
    return any(inner <= first and first + count <= inner + length for inner, _, length in ranges)


def counts_processes(name: str) -> bool:
    """Whether the kernel holds a cell to its number of processes: not for root itself, nor without a wall."""
    return name != "none" and (os.geteuid() != 0 or has_root())


def user_of(number: int) -> int:
    """The user id of cell `number`, spread by this process's id so that two sandboxes rarely share one."""
    first, count = _USERS
    return first + (os.getpid() * 64 + number) % count


def _interpreter() -> str:
    return os.path.realpath(sys.executable)


def _view(paths: tuple[str, ...], *, proc: bool) -> list[Op]:
    """All that is visible behind the wall: interpreter, standard library, shared libraries, five devices, /tmp."""
    base = os.path.realpath(sys.base_prefix)
    wanted = ["/usr/lib", "/usr/lib64", "/etc/ld.so.cache", os.path.join(base, "lib"), sysconfig.get_path("stdlib")]
    wanted += [sysconfig.get_path("platstdlib", vars={"platbase": base}), _interpreter()]
    view: list[Op] = []
    for top in ("/lib", "/lib64"):
        if os.path.islink(top):
            view.append(("link", os.readlink(top), top))
        else:
            wanted.insert(0, top)
    shown: list[str] = []
    for path in sorted((p for p in dict.fromkeys(wanted) if os.path.exists(p)), key=len):
        if not any(path == other or path.startswith(other + "/") for other in shown):
            shown.append(path)
            view.append(("bind", path, path))
    view.append(("bind", _INSIDE, "/inside"))
    view += [("bind", os.path.abspath(path), place) for path, place in zip(paths, _places(paths))]
    view += [("device", f"/dev/{name}", f"/dev/{name}") for name in ("null", "zero", "full", "random", "urandom")]
    view += [("link", "/tmp", "/dev/shm"), ("link", "/tmp/.stdin", "/dev/stdin"), ("dir", "", "/tmp")]
    return [*view, ("proc", "", "/proc")] if proc else view


def _folders(view: list[Op]) -> list[str]:
    """Every folder above what is shown, outermost first.

    >>> _folders([("bind", "/x", "/usr/lib"), ("dir", "", "/tmp")])
    ['/usr']
    """
    above = {str(parent) for _, _, place in view for parent in Path(place).parents}
    return sorted(above - {"/"}, key=len)


def _places(paths: tuple[str, ...]) -> list[str]:
    """Where the user's folders appear: never below /tmp, which each cell covers with its own."""
    return [f"/paths/{index}" for index in range(len(paths))]


def _bubblewrap(view: list[Op], *, root: bool) -> list[str]:
    words = [str(shutil.which("bwrap")), "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    words += ["--unshare-cgroup-try", "--clearenv", "--setenv", "PYTHONHASHSEED", "0", "--chdir", "/"]
    if root:  # what the keeper needs to build cells and to end them; cells have none of it
        words += ["--cap-drop", "ALL"]
        for capability in ("SYS_ADMIN", "SETUID", "SETGID", "KILL", "SETPCAP"):
            words += ["--cap-add", f"CAP_{capability}"]
    else:
        words += ["--unshare-user", "--uid", "1000", "--gid", "1000"]
    for folder in _folders(view):  # those that bubblewrap makes of itself can be read by their owner alone
        words += ["--dir", folder]
    flag = {"bind": "--ro-bind", "device": "--dev-bind", "link": "--symlink"}
    for kind, source, place in view:
        if kind in flag:
            words += [flag[kind], source, place]
        else:
            words += ["--dir" if kind == "dir" else "--proc", place]
    return [*words, "--remount-ro", "/", "--"]
