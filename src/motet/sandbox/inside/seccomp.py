"""The system calls a program may not make, as a classic BPF filter.

The filter refuses (EPERM) whatever would reach another process's memory, change mounts, namespaces or the machine, open
a socket, or keep memory that no limit counts. `clone3` is answered with ENOSYS, which libraries take as a kernel that
lacks it, so that the flags of `clone` can be read. A program of another instruction set of the machine is killed.
"""

from __future__ import annotations

import errno
import struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_THREAD, _NEW_NAMESPACES = 0x00010000, 0x7E020080
_UNIX = 1

_BOTH = {  # the same number on every architecture
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "quotactl_fd": 443,
    "landlock_create_ruleset": 444, "memfd_secret": 447, "process_mrelease": 448,
}  # fmt: skip

_X86_64 = {
    "socket": 41, "shmget": 29, "shmat": 30, "semget": 64, "msgget": 68, "ptrace": 101, "syslog": 103, "ustat": 136,
    "personality": 135, "vhangup": 153, "modify_ldt": 154, "pivot_root": 155, "acct": 163, "settimeofday": 164,
    "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169, "sethostname": 170,
    "setdomainname": 171, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176, "quotactl": 179,
    "chroot": 161, "lookup_dcookie": 212, "clock_settime": 227, "mbind": 237, "set_mempolicy": 238, "mq_open": 240,
    "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256, "unshare": 272,
    "move_pages": 279, "perf_event_open": 298, "fanotify_init": 300, "name_to_handle_at": 303,
    "open_by_handle_at": 304, "clock_adjtime": 305, "adjtimex": 159, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "memfd_create": 319, "kexec_file_load": 320,
    "bpf": 321, "userfaultfd": 323,
}  # fmt: skip

_AARCH64 = {
    "socket": 198, "shmget": 194, "shmat": 196, "semget": 190, "msgget": 186, "ptrace": 117, "syslog": 116,
    "personality": 92, "vhangup": 58, "pivot_root": 41, "acct": 89, "settimeofday": 170, "mount": 40, "umount2": 39,
    "swapon": 224, "swapoff": 225, "reboot": 142, "sethostname": 161, "setdomainname": 162, "init_module": 105,
    "delete_module": 106, "quotactl": 60, "chroot": 51, "lookup_dcookie": 18, "clock_settime": 112, "mbind": 235,
    "set_mempolicy": 237, "mq_open": 180, "kexec_load": 104, "add_key": 217, "request_key": 218, "keyctl": 219,
    "migrate_pages": 238, "unshare": 97, "move_pages": 239, "perf_event_open": 241, "fanotify_init": 262,
    "name_to_handle_at": 264, "open_by_handle_at": 265, "clock_adjtime": 266, "adjtimex": 171, "setns": 268,
    "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "finit_module": 273, "memfd_create": 279,
    "kexec_file_load": 294, "bpf": 280, "userfaultfd": 282,
}  # fmt: skip

_REFUSED = {"x86_64": {**_X86_64, **_BOTH}, "aarch64": {**_AARCH64, **_BOTH}}
_CLONE = {"x86_64": 56, "aarch64": 220}
_SOCKETPAIR = {"x86_64": 53, "aarch64": 199}
_FORK = {"x86_64": (57, 58), "aarch64": ()}  # fork and vfork; aarch64 has clone alone
_CLONE3, _X32_BIT = 435, 0x40000000


def supported(machine: str) -> bool:
    """Whether the filter is written for this machine."""
    return machine in _ARCHITECTURE


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("HBBI", code, yes, no, value)


def _refuse(number: int, code: int) -> bytes:
    """Answer system call `number` with error `code`; go on to the next instruction otherwise."""
    return _step(_EQUAL, number, 0, 1) + _step(_RETURN, _ERRNO | code)


def build(machine: str, *, fork: bool) -> bytes:
    """The filter for `machine`; without `fork`, threads may start but no process. 8 bytes an instruction.

    >>> len(build("x86_64", fork=False)) % 8
    0
    """
    number, architecture, first_argument = 0, 4, 16
    parts = [
        _step(_LOAD, architecture),
        _step(_EQUAL, _ARCHITECTURE[machine], 1, 0),
        _step(_RETURN, _KILL),
        _step(_LOAD, number),
    ]
    if machine == "x86_64":  # the x32 calls are the same kernel under other numbers
        parts += [_step(_AT_LEAST, _X32_BIT, 0, 1), _step(_RETURN, _ERRNO | errno.ENOSYS)]
    parts.append(_refuse(_CLONE3, errno.ENOSYS))
    parts += [_refuse(refused, errno.EPERM) for refused in sorted(set(_REFUSED[machine].values()))]
    if not fork:
        parts += [_refuse(refused, errno.EPERM) for refused in _FORK[machine]]
    # socketpair stays within the program, if it is of the local family
    parts += [
        _step(_EQUAL, _SOCKETPAIR[machine], 0, 4),
        _step(_LOAD, first_argument),
        _step(_EQUAL, _UNIX, 1, 0),
        _step(_RETURN, _ERRNO | errno.EPERM),
        _step(_RETURN, _ALLOW),
    ]
    # clone: never a new namespace; without `fork` only threads
    body = [_step(_LOAD, first_argument), _step(_ANY_BIT, _NEW_NAMESPACES, 0, 1), _step(_RETURN, _ERRNO | errno.EPERM)]
    if not fork:
        body += [_step(_ANY_BIT, _THREAD, 1, 0), _step(_RETURN, _ERRNO | errno.EPERM)]
    parts += [_step(_EQUAL, _CLONE[machine], 0, len(body)), *body, _step(_RETURN, _ALLOW)]
    return b"".join(parts)
