"""The filter, run step by step on made-up calls, answers as the table says on both machines."""

import errno
import struct

import pytest

from motet.sandbox.inside import seccomp

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
X86, ARM = 0xC000003E, 0xC00000B7


def answer(filter_: bytes, architecture: int, number: int, first: int = 0) -> int:
    """What the kernel would do: classic BPF over `struct seccomp_data`."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, first, 0, 0, 0, 0, 0)
    steps = [struct.unpack_from("HBBI", filter_, at) for at in range(0, len(filter_), 8)]
    at = held = 0
    while True:
        code, yes, no, value = steps[at]
        at += 1
        if code == 0x06:
            return value
        if code == 0x20:
            (held,) = struct.unpack_from("<I", data, value)
            continue
        true = {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code]
        at += yes if true else no


REFUSED = ERRNO | errno.EPERM
THREAD_FLAGS, FORK_FLAGS = 0x3D0F00, 0x1200011


@pytest.mark.parametrize(
    "number, first, forkless, forking",
    [
        (0, 0, ALLOW, ALLOW),  # read
        (59, 0, ALLOW, ALLOW),  # execve
        (57, 0, REFUSED, ALLOW),  # fork
        (58, 0, REFUSED, ALLOW),  # vfork
        (56, THREAD_FLAGS, ALLOW, ALLOW),  # clone of a thread
        (56, FORK_FLAGS, REFUSED, ALLOW),  # clone of a process
        (56, 0x10000000 | 17, REFUSED, REFUSED),  # clone with a user namespace
        (56, THREAD_FLAGS | 0x20000, REFUSED, REFUSED),  # a thread in a new mount namespace
        (435, 0, ERRNO | errno.ENOSYS, ERRNO | errno.ENOSYS),  # clone3
        (41, 1, REFUSED, REFUSED),  # socket
        (53, 1, ALLOW, ALLOW),  # socketpair, local
        (53, 2, REFUSED, REFUSED),  # socketpair, internet
        (101, 0, REFUSED, REFUSED),  # ptrace
        (165, 0, REFUSED, REFUSED),  # mount
        (272, 0, REFUSED, REFUSED),  # unshare
        (319, 0, REFUSED, REFUSED),  # memfd_create
        (0x40000000 | 0, 0, ERRNO | errno.ENOSYS, ERRNO | errno.ENOSYS),  # x32 read
    ],
)
def test_calls_on_x86_64(number, first, forkless, forking):
    assert answer(seccomp.build("x86_64", fork=False), X86, number, first) == forkless
    assert answer(seccomp.build("x86_64", fork=True), X86, number, first) == forking


@pytest.mark.parametrize(
    "number, first, forkless",
    [
        (63, 0, ALLOW),  # read
        (220, THREAD_FLAGS, ALLOW),
        (220, FORK_FLAGS, REFUSED),
        (198, 1, REFUSED),  # socket
        (199, 1, ALLOW),
        (117, 0, REFUSED),  # ptrace
        (97, 0, REFUSED),  # unshare
    ],
)
def test_calls_on_aarch64(number, first, forkless):
    assert answer(seccomp.build("aarch64", fork=False), ARM, number, first) == forkless


def test_a_program_of_another_instruction_set_is_killed():
    assert answer(seccomp.build("x86_64", fork=True), 0x40000003, 3) == KILL


def test_every_number_is_named_once():
    for machine in ("x86_64", "aarch64"):
        names = seccomp._REFUSED[machine]
        assert len(set(names.values())) == len(names)
