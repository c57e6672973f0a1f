"""The few calls of the Linux kernel that the standard library of Python 3.11 does not offer, by name and checked."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import time

NEWNS, NEWUTS, NEWIPC = 0x00020000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET, NEWCGROUP = 0x10000000, 0x20000000, 0x40000000, 0x02000000
RDONLY, NOSUID, NODEV, NOEXEC, BIND, REC, PRIVATE = 1, 2, 4, 8, 0x1000, 0x4000, 0x40000
_DETACH, _AT_FDCWD, _AT_RECURSIVE = 2, -100, 0x8000
_ATTR_RDONLY, _ATTR_NOSUID, _ATTR_NODEV = 1, 2, 4
_SET_NO_NEW_PRIVS, _SET_SECCOMP, _MODE_FILTER, _CAPBSET_DROP = 38, 22, 2, 24
_CAPSET = {"x86_64": 126, "aarch64": 91}
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_MOUNT_SETATTR, _ARENA_MAX = 442, -8
_CAP_VERSION_3 = 0x20080522

machine = platform.machine()
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result: int, what: str) -> None:
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")


def unshare(flags: int) -> None:
    _checked(_libc.unshare(ctypes.c_int(flags)), f"unshare({flags:#x})")


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    _checked(
        _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode()),
        f"mount {source} on {target}",
    )


def unmount(target: str) -> None:
    """Detach what is mounted at `target`; it disappears with its last user."""
    _checked(_libc.umount2(target.encode(), _DETACH), f"unmount {target}")


def read_only(target: str) -> None:
    """Make the mount at `target` and every mount below it read-only, without set-uid and without devices."""
    attributes = struct.pack("QQQQ", _ATTR_RDONLY | _ATTR_NOSUID | _ATTR_NODEV, 0, 0, 0)
    where = ctypes.c_char_p(target.encode())
    result = _libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, where, _AT_RECURSIVE, attributes, ctypes.c_size_t(32))
    _checked(result, f"make {target} read-only")


def pivot_root(new: str, old: str) -> None:
    number = _PIVOT_ROOT[machine]
    _checked(_libc.syscall(number, ctypes.c_char_p(new.encode()), ctypes.c_char_p(old.encode())), f"pivot_root {new}")


def cpu_s(pid: int) -> float:
    """Processor time of a process, all its threads together, to the nanosecond; also of one that ended and is not
    yet waited for. The kernel's own limit goes by samples instead, which a busy machine falsifies."""
    return time.clock_gettime(~pid << 3 | 2)


def one_heap() -> None:
    """Let all threads share one heap, so that a thread does not reserve address space that counts as memory."""
    _libc.mallopt(_ARENA_MAX, 1)


def no_new_privileges() -> None:
    _checked(_libc.prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def drop_capabilities() -> None:
    """Give up every capability, also for what is executed later. Without CAP_SETPCAP the bounding set stays."""
    for capability in range(64):
        if _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0) < 0:
            break
    header = struct.pack("Ii", _CAP_VERSION_3, 0)
    _checked(_libc.syscall(_CAPSET[machine], header, struct.pack("6I", *[0] * 6)), "capset")


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def install_filter(instructions: bytes) -> None:
    """Install a seccomp filter (8 bytes an instruction) for this process and all its descendants."""
    buffer = ctypes.create_string_buffer(instructions, len(instructions))
    program = _Program(len(instructions) // 8, ctypes.cast(buffer, ctypes.c_void_p))
    _checked(_libc.prctl(_SET_SECCOMP, _MODE_FILTER, ctypes.byref(program), 0, 0), "install the seccomp filter")
