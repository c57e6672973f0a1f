"""The keeper: one process behind the wall that has the interpreter and the usual modules loaded and forks cells off.

It reads orders from one socket (four descriptors and a user number each) and never runs anything of a program. When
the socket closes, because the process that started it ended in whatever way, the keeper ends; it is the first process
behind the wall (or the only child of it), so the kernel ends every cell with it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
from typing import Any

from motet.sandbox.inside import cell, kernel, wall

MODULES = (
    *("abc", "array", "atexit", "bisect", "builtins", "cmath", "collections", "contextlib", "copy", "ctypes"),
    *("dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "hashlib", "heapq", "inspect", "io"),
    *(
        "itertools",
        "json",
        "keyword",
        "linecache",
        "math",
        "numbers",
        "operator",
        "queue",
        "random",
        "re",
        "statistics",
    ),
    *("string", "struct", "textwrap", "threading", "time", "traceback", "types", "typing"),
)
"""Loaded before cells are forked, because programs import them."""


def main(control_fd: int) -> None:
    """Serve orders until the other side closes. The first message is the configuration, the first answer a greeting."""
    control = socket.socket(fileno=control_fd)
    config = json.loads(control.recv(1 << 16))
    os.environ.clear()
    kernel.one_heap()
    try:
        if config["view"] is not None:
            wall.build([(kind, source, place) for kind, source, place in config["view"]], root=config["root"])
        for name in MODULES:
            importlib.import_module(name)
        sys.path.extend(config["paths"])
        for name in config["preload"]:
            importlib.import_module(name)
        build = cell.make_build(config)
        sys.argv[:] = ["main.py"]
    except BaseException as problem:  # noqa: BLE001  whatever it is, the other side must be told
        control.send(json.dumps({"fault": f"{type(problem).__name__}: {problem}"}).encode())
        os._exit(1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that started this one
    gc.collect()
    gc.freeze()
    control.send(b'{"ready": true}')
    _serve(control, build)


def _serve(control: socket.socket, build: cell.Build) -> None:
    while True:
        message, fds, _, _ = socket.recv_fds(control, 4096, 4)
        if not message:
            os._exit(0)
        order: dict[str, Any] = json.loads(message)
        if os.fork() == 0:
            control.close()
            with contextlib.suppress(OSError):  # the other side is gone: nobody to tell
                leash, line, out, err = fds
                cell.watch(build, leash, line, out, err, order["user"])
            os._exit(0)
        for fd in fds:
            os.close(fd)
