# ruff: noqa: E501  the programs are data
"""Hostile programs. Each prints ESCAPED if it gets what it wants; `ends` are the statuses that count as contained."""

from dataclasses import dataclass

SECRET = "s3cret-of-the-parent"
LIBC = "import ctypes, os; libc = ctypes.CDLL(None, use_errno=True)\n"


@dataclass(frozen=True)
class Hostile:
    name: str
    program: str
    ends: tuple[str, ...] = ("ok", "error")
    fork: bool = False
    slow: bool = False


def _attempts(*lines: str, before: str = "") -> str:
    """A program that tries each line and prints ESCAPED after any that raised nothing and gave something true."""
    return before + "".join(
        f"try:\n    result = {line}\n    if result: print('ESCAPED', {line!r}, result)\nexcept Exception as e: print(e)\n"
        for line in lines
    )


PROGRAMS = [
    # processes
    Hostile("fork bomb", "import os\nwhile True: os.fork()", ("error",)),
    Hostile(
        "fork bomb where forks are allowed",
        "import os\nwhile True:\n try: os.fork()\n except OSError: pass",
        ("timeout",),
        fork=True,
        slow=True,
    ),
    Hostile("a thousand forks", "import os\nfor i in range(1000):\n if os.fork() == 0: os._exit(0)", ("error",)),
    Hostile("fork through libc", LIBC + "for f in (libc.fork, libc.vfork):\n if f() != -1: print('ESCAPED')"),
    Hostile(
        "raw clone and clone3",
        _attempts(
            "libc.syscall(56, 17, 0, 0, 0, 0) != -1",
            "libc.syscall(435, 0, 0) != -1",
            "libc.syscall(58) != -1",
            before=LIBC,
        ),
    ),
    Hostile("the 32-bit twin of a call", _attempts("libc.syscall(0x40000000 | 57) != -1", before=LIBC)),
    Hostile(
        "subprocess",
        "import subprocess\nprint('ESCAPED', subprocess.check_output(['/bin/sh', '-c', 'id']))",
        ("error",),
    ),
    Hostile(
        "multiprocessing",
        "import multiprocessing as m\nm.get_context('fork').Process(target=print).start()\nprint('ESCAPED')",
        ("error",),
    ),
    Hostile(
        "a daemon that outlives its parent",
        "import os, time\nif os.fork() == 0:\n os.setsid()\n"
        " if os.fork() == 0: time.sleep(100)\n os._exit(0)\nprint('gone')",
        ("ok",),
        fork=True,
    ),
    Hostile(
        "a child that holds the output",
        "import os, time\nif os.fork() == 0: time.sleep(100)\nos._exit(3)",
        ("error",),
        fork=True,
    ),
    Hostile(
        "exec a shell",
        "import os\nfor p in ('/bin/sh','/usr/bin/sh','/bin/bash','/usr/bin/env'):\n"
        " try: os.execv(p, [p, '-c', 'echo ESCAPED'])\n except OSError as e: print(e)",
        ("ok",),
    ),
    Hostile(
        "exec itself for ever",
        "import os, sys\nos.execv(sys.executable, [sys.executable, '-S', 'main.py'])",
        ("timeout", "error"),
        slow=True,
    ),
    Hostile(
        "threads without end",
        "import threading, time\nn = 0\ntry:\n while True:\n"
        "  threading.Thread(target=time.sleep, args=(9,), daemon=True).start(); n += 1\n"
        "except RuntimeError: print('ESCAPED' if n > 16 else n)",
        ("ok",),
    ),
    # memory, disk, output, time
    Hostile("memory in pieces", "x = []\nwhile True: x.append(bytearray(1 << 20))", ("memory",)),
    Hostile("memory at once", "x = 'a' * (1 << 40)", ("memory",)),
    Hostile(
        "memory caught and asked again",
        "x = []\nwhile True:\n try: x.append(bytearray(1 << 22))\n except MemoryError: pass",
        ("timeout", "memory", "error"),
        slow=True,
    ),
    Hostile(
        "shared mapping",
        "import mmap\nx = [mmap.mmap(-1, 64 << 20) for _ in range(64)]\nprint('ESCAPED')",
        ("error", "memory"),
    ),
    Hostile("memory files", _attempts("os.memfd_create('x')", before="import os\n")),
    Hostile(
        "System V shared memory",
        _attempts(
            "libc.shmget(0, 1 << 30, 0o1600) != -1",
            "libc.semget(0, 9, 0o1600) != -1",
            "libc.msgget(0, 0o1600) != -1",
            before=LIBC,
        ),
    ),
    Hostile("message queues", _attempts("libc.syscall(240, b'x', 0o102, 0o600, None) != -1", before=LIBC)),
    Hostile("one endless file", "f = open('big', 'wb')\nwhile True: f.write(b'x' * (1 << 20))", ("error",)),
    Hostile(
        "a full folder",
        "for i in range(99):\n open(f'f{i}', 'wb').write(b'x' * (3 << 20))\nprint('ESCAPED')",
        ("error",),
    ),
    Hostile(
        "a hundred thousand files", "for i in range(100_000): open(f'f{i}', 'w').close()\nprint('ESCAPED')", ("error",)
    ),
    Hostile(
        "sparse file",
        "import os\nos.truncate(os.open('s', os.O_CREAT | os.O_RDWR), 1 << 40)\nprint('ESCAPED')",
        ("error",),
    ),
    Hostile("endless output", "while True: print('x' * 1000)", ("output",)),
    Hostile("endless errors", "import sys\nwhile True: sys.stderr.write('x' * 1000)", ("output",)),
    Hostile(
        "endless output from threads",
        "import os, threading\ndef f():\n while True: os.write(1, b'x' * 65536)\n"
        "for _ in range(8): threading.Thread(target=f).start()",
        ("output",),
    ),
    Hostile("output behind a closed pipe", "import os\nos.close(1); os.close(2)\nprint('x' * 100_000)"),
    Hostile("sleep", "import time\ntime.sleep(1000)", ("timeout",), slow=True),
    Hostile("busy loop", "while True: pass", ("timeout",), slow=True),
    Hostile(
        "busy loop that ignores every signal",
        "import signal\nfor s in range(1, 65):\n"
        " try: signal.signal(s, signal.SIG_IGN)\n except (OSError, ValueError): pass\nwhile True: pass",
        ("timeout",),
        slow=True,
    ),
    Hostile(
        "a thread that never ends",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
        ("timeout",),
        slow=True,
    ),
    Hostile(
        "an exit function that never ends",
        "import atexit, time\natexit.register(time.sleep, 1000)",
        ("timeout",),
        slow=True,
    ),
    Hostile("a pattern that never ends", "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')", ("timeout",), slow=True),
    Hostile("huge power", "x = 9 ** 9 ** 9", ("timeout", "memory"), slow=True),
    Hostile(
        "huge integer printed",
        "import sys\nsys.set_int_max_str_digits(0)\nprint(3 ** 10 ** 8)",
        ("timeout", "memory"),
        slow=True,
    ),
    Hostile(
        "a small archive of much",
        "import zlib\nd = zlib.decompressobj()\nx = zlib.compress(b'0' * (1 << 26))\n"
        "y = [zlib.decompress(x) for _ in range(64)]",
        ("memory", "timeout"),
    ),
    # the interpreter turned against itself
    Hostile("recursion", "def f(): f()\nf()", ("error",)),
    Hostile(
        "recursion without a limit",
        "import sys\nsys.setrecursionlimit(1 << 30)\ndef f(): f()\nf()",
        ("error", "memory", "timeout"),
        slow=True,
    ),
    Hostile(
        "recursion through C",
        "import sys\nsys.setrecursionlimit(1 << 30)\nclass A:\n"
        " def __getattr__(self, n): return getattr(self, n)\nA().x",
        ("error", "memory"),
    ),
    Hostile("null pointer", "import ctypes\nctypes.string_at(0)", ("error",)),
    Hostile("wild write", "import ctypes\nctypes.memset(id(None), 255, 1 << 16)\nprint(None)", ("error",)),
    Hostile("deeply nested source", "x = " + "(" * 50_000 + ")" * 50_000, ("error", "memory", "output")),
    Hostile(
        "a code object of nonsense",
        "f = lambda: 0\nf.__code__ = f.__code__.replace(co_code=b'\\xff\\x01' * 50)\nf()",
        ("error", "ok"),
    ),
    Hostile(
        "every signal to itself",
        "import os, signal\nfor s in range(1, 65):\n try: os.kill(os.getpid(), s)\n except OSError: pass",
        ("ok", "error", "timeout"),
    ),
    Hostile("abort", "import os\nos.abort()", ("error",)),
    Hostile(
        "no exit function left",
        "import os, sys\nos._exit = sys.exit = lambda *a: None\nraise SystemExit(7)",
        ("error",),
    ),
    # other processes
    Hostile("kill the parent", "import os\nos.kill(os.getppid(), 9)", ("ok", "error")),
    Hostile(
        "kill everybody",
        "import os\nfor p in [-1, *range(2, 5000)]:\n try: os.kill(p, 9); print('ESCAPED', p)\n except OSError: pass",
        ("ok",),
    ),
    Hostile(
        "kill process 1",
        "import os, signal, time\nos.kill(1, signal.SIGKILL)\ntime.sleep(0.1)\nprint('alive')",
        ("ok",),
    ),
    Hostile("kill the process group", "import os\nos.killpg(0, 9)", ("ok", "error")),
    Hostile("ptrace", _attempts("libc.ptrace(16, 1, 0, 0) == 0", "libc.ptrace(0, 0, 0, 0) == 0", before=LIBC)),
    Hostile(
        "another process's memory",
        _attempts(
            "libc.process_vm_readv(1, None, 0, None, 0, 0) != -1",
            "libc.process_vm_writev(1, None, 0, None, 0, 0) != -1",
            before=LIBC,
        ),
    ),
    Hostile("another process's descriptors", _attempts("libc.syscall(438, os.pidfd_open(1), 0, 0) != -1", before=LIBC)),
    Hostile(
        "/proc",
        _attempts(
            "os.listdir('/proc')",
            "open('/proc/self/environ').read()",
            "open('/proc/1/mem', 'rb+')",
            "open('/proc/self/exe', 'rb').read(1)",
            "open('/proc/sysrq-trigger', 'w')",
            before="import os\n",
        ),
    ),
    # walls
    Hostile(
        "set-uid to root",
        _attempts("os.setuid(0) is None and os.getuid() == 0 and os.listdir('/root')[1:]", before="import os\n"),
    ),
    Hostile(
        "new namespaces",
        _attempts("libc.unshare(0x10000000) == 0", "libc.unshare(0x20000) == 0", "libc.setns(0, 0) == 0", before=LIBC),
    ),
    Hostile(
        "mounts",
        _attempts(
            "libc.mount(b'none', b'/tmp', b'tmpfs', 0, 0) == 0",
            "libc.umount2(b'/tmp', 2) == 0",
            "libc.umount2(b'/proc', 2) == 0",
            "libc.chroot(b'/tmp') == 0",
            "libc.syscall(429, 0, 0, 0, 0, 0) == 0",
            before=LIBC,
        ),
    ),
    Hostile(
        "devices",
        _attempts(
            "os.mknod('/tmp/d', 0o60600, os.makedev(254, 0)) is None",
            "os.listdir('/dev/shm')[1:]",
            "[d for d in os.listdir('/dev') if d not in ('null', 'zero', 'full', 'random', 'urandom', 'shm', 'stdin')]",
            before="import os\n",
        ),
    ),
    Hostile(
        "kernel doors",
        _attempts(
            *[
                f"libc.syscall({n}, 0, 0, 0, 0, 0) != -1"
                for n in (425, 321, 298, 323, 250, 248, 175, 246, 169, 101, 304)
            ],
            before=LIBC,
        ),
    ),
    Hostile(
        "higher limits",
        _attempts(
            "resource.setrlimit(resource.RLIMIT_AS, (-1, -1)) is None",
            "resource.setrlimit(resource.RLIMIT_CPU, (999, 999)) is None",
            before="import resource\n",
        ),
    ),
    Hostile(
        "write to the interpreter",
        _attempts(
            "open(os.__file__, 'a')",
            "os.remove(os.__file__)",
            "open(os.path.dirname(os.__file__) + '/x.py', 'w')",
            "open(sys.executable, 'r+b')",
            "os.chmod(os.__file__, 0o777) is None",
            before="import os, sys\n",
        ),
    ),
    Hostile(
        "write anywhere else",
        _attempts(
            *[f"open({p!r}, 'w')" for p in ("/x", "/inside/x", "/inside/program.py", "/usr/lib/x", "/dev/x", "/etc/x")]
        ),
    ),
    Hostile(
        "run a file of its own",
        "import os\nopen('x', 'w').write('#!/bin/sh\\necho ESCAPED')\nos.chmod('x', 0o755)\nos.execv('./x', ['x'])",
        ("error",),
    ),
    # network
    Hostile(
        "TCP",
        _attempts(
            "socket.create_connection(('1.1.1.1', 80), 1)",
            "socket.create_server(('127.0.0.1', 0))",
            before="import socket\n",
        ),
    ),
    Hostile(
        "UDP and names",
        _attempts(
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
            "socket.getaddrinfo('example.org', 80)",
            before="import socket\n",
        ),
    ),
    Hostile(
        "local sockets",
        _attempts(
            "socket.socket(socket.AF_UNIX)",
            "socket.socket(16, 3, 0)",
            "socket.socket(17, 3, 0)",
            before="import socket\n",
        ),
    ),
    Hostile(
        "URL", _attempts("urllib.request.urlopen('http://127.0.0.1:2024', timeout=1)", before="import urllib.request\n")
    ),
    Hostile(
        "raw socket calls",
        _attempts(
            "libc.syscall(41, 2, 1, 0) != -1",
            "libc.socket(2, 1, 0) != -1",
            "libc.syscall(53, 2, 1, 0, 0) != -1",
            before=LIBC,
        ),
    ),
    # secrets
    Hostile(
        "secrets of the environment",
        "import os, ctypes\nprint(dict(os.environ))\n"
        "e = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), 'environ')\n"
        "i = 0\nwhile e and e[i]:\n print('ESCAPED', e[i]); i += 1",
    ),
    Hostile(
        "files of users",
        _attempts(
            "os.listdir('/home')",
            "open('/etc/passwd').read()",
            "open('/etc/shadow').read()",
            "open('/root/.bashrc').read()",
            "open('/root/.ssh/id_rsa').read()",
            "pwd.getpwuid(0)",
            before="import os, pwd\n",
        ),
    ),
    Hostile(
        "descriptors left open",
        "import os\nfor fd in range(3, 1024):\n try: os.fstat(fd); print('ESCAPED', fd)\n except OSError: pass",
        ("ok",),
    ),
]
