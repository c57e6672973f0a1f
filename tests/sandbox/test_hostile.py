"""Nothing a program does reaches outside its cell, the parent lives on, and the pool is full again afterwards."""

import dataclasses
import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hostile_programs import PROGRAMS, SECRET, Hostile

from motet.sandbox import CallTest, Limits, Ran, Sandbox
from motet.sandbox.backends import counts_processes

NAMED = [
    pytest.param(
        hostile,
        id=hostile.name,
        marks=[pytest.mark.slow] if hostile.slow else [],
    )
    for hostile in PROGRAMS
]


def descendants(pid: int) -> int:
    """How many processes live below `pid`."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    count, level = 0, {pid}
    while level := {child for child, parent in parents.items() if parent in level}:
        count += len(level)
    return count


def settled(sandbox: Sandbox, wanted: int) -> int:
    """The number of processes of the sandbox, once it is down to `wanted` or a minute has passed."""
    deadline = time.monotonic() + 60
    while (count := descendants(os.getpid())) > wanted and time.monotonic() < deadline:
        time.sleep(0.02)
    return count


def run(sandbox: Sandbox, hostile: Hostile) -> Ran:
    if "syscall(" in hostile.program and platform.machine() != "x86_64":
        pytest.skip("the numbers of system calls are those of x86_64")
    if hostile.fork and not counts_processes(sandbox.backend):
        pytest.skip("processes cannot be counted with these rights")
    return sandbox.run(hostile.program, limits=dataclasses.replace(sandbox.limits, fork=hostile.fork))


def test_there_are_at_least_forty_hostile_programs_with_different_names():
    assert len({hostile.name for hostile in PROGRAMS}) == len(PROGRAMS) >= 40


@pytest.mark.slow
@pytest.mark.parametrize("hostile", NAMED)
def test_a_hostile_program_is_contained(each: Sandbox, hostile: Hostile):
    assert each.ready() == each.warm
    before = descendants(os.getpid())
    ran = run(each, hostile)
    assert "ESCAPED" not in ran.stdout, ran
    assert ran.status in hostile.ends, ran
    assert ran.seconds < 102 * each.limits.wall_s  # waiting for a processor does not count, up to 100 times
    assert len(ran.stdout) + len(ran.stderr) <= each.limits.output_kb << 10
    assert each.ready() == each.warm
    assert settled(each, before) <= before
    assert each.run("print('well')").stdout == "well\n"


def test_what_one_program_leaves_the_next_does_not_find(each: Sandbox):
    first = each.run(
        "import os\nopen('left', 'w').write('x')\nos.mkdir('d')\nimport math; math.pi = 3\nprint(os.listdir())"
    )
    second = each.run("import os, math\nprint(os.listdir(), math.pi, os.listdir('/tmp'))")
    assert first.ok and "left" in first.stdout
    assert second.stdout == "['main.py'] 3.141592653589793 ['main.py']\n"


def test_two_programs_at_a_time_do_not_see_each_other(each: Sandbox):
    watcher = (
        "import os, time\nopen('/tmp/mark', 'w')\ntime.sleep(0.4)\n"
        "alive = []\nfor p in range(1, 3000):\n try: os.kill(p, 0); alive.append(p)\n except OSError: pass\n"
        "print(alive, sorted(os.listdir('/tmp')))"
    )
    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(each.run, [watcher, watcher]))
    assert [ran.stdout for ran in found] == ["[1] ['main.py', 'mark']\n"] * 2


def test_no_file_of_the_machine_that_holds_a_secret_can_be_read(each: Sandbox, tmp_path: Path):
    places = [tmp_path / "key", Path.home() / ".motet_test_key"]
    hunt = (
        "import os\nfor top in ('/', '/proc', '/dev/shm'):\n for d, dirs, files in os.walk(top):\n"
        "  dirs[:] = [n for n in dirs if n != 'lib' and d + n not in ('/usr', '/lib64', '/dev')]\n"
        "  for f in files:\n   p = os.path.join(d, f)\n"
        "   try:\n    if SECRET in open(p, errors='replace').read(1 << 20): print('ESCAPED', p)\n"
        "   except OSError: pass\n"
        "print('searched')"
    )
    halves = f"SECRET = {SECRET[:5]!r} + {SECRET[5:]!r}\n"
    try:
        for place in places:
            place.write_text(SECRET)
        ran = each.run(halves + hunt)
    finally:
        for place in places:
            place.unlink(missing_ok=True)
    assert ran.stdout == "searched\n", ran


def test_case_15_generated_code_is_contained_and_secrets_are_absent(sandbox: Sandbox):
    tries = {
        "import os; print(sorted(os.environ))": ("ok", "[]\n"),
        "import socket; socket.create_connection(('127.0.0.1', 22))": ("error", ""),
        "import os\nfor _ in range(1000): os.fork()": ("error", ""),
        "x = []\nwhile True: x.append(' ' * 2**20)": ("memory", ""),
        "import sys\nprint(repr(sys.stdin.read()))": ("ok", "''\n"),
    }
    for program, (status, stdout) in tries.items():
        ran = sandbox.run(program)
        assert (ran.status, ran.stdout) == (status, stdout), program
    assert sandbox.run("while True: print('x' * 999)").status == "output"
    assert sandbox.run("import time; time.sleep(99)", limits=Limits(wall_s=0.3)).status == "timeout"
    assert sandbox.ready() == sandbox.warm


def test_case_14_a_printed_expression_stays_text(sandbox: Sandbox, tmp_path: Path):
    mark = tmp_path / "touched"
    text = f"[__import__('os').system('touch {mark}')]"
    ran = sandbox.run(f"print({text!r})")
    assert ran.stdout == text + "\n"
    (result,) = sandbox.run_tests(f"def moves(): return {text!r}", [CallTest("moves", [], ["U"])])
    assert result.status == "wrong"
    assert not mark.exists()
