"""An ordinary program runs as `python main.py` would run it."""

import math
import os
import subprocess
import sys

import pytest

from motet.errors import SandboxError
from motet.sandbox import CallTest, Limits, Sandbox
from motet.sandbox.backends import counts_processes


def test_standard_input_output_error_and_files_are_those_of_a_script(each: Sandbox):
    program = (
        "import sys\nfrom helper import twice\nprint(twice(int(input())), open('data/x.txt').read())\n"
        "print('note', file=sys.stderr)\nprint(__name__, __file__, sys.argv)"
    )
    files = {"helper.py": "def twice(x): return 2 * x", "data/x.txt": "ü"}
    ran = each.run(program, stdin="21\n", files=files)
    assert (ran.status, ran.exit_code, ran.stderr) == ("ok", 0, "note\n")
    assert ran.stdout == "42 ü\n__main__ main.py ['main.py']\n"


@pytest.mark.parametrize(
    "ending, status, code",
    [
        ("pass", "ok", 0),
        ("raise SystemExit", "ok", 0),
        ("raise SystemExit(3)", "error", 3),
        ("raise SystemExit('words')", "error", 1),
        ("import os; os._exit(4)", "error", 4),
        ("1 / 0", "error", 1),
        ("import ctypes; ctypes.string_at(0)", "error", -11),
        ("raise MemoryError", "memory", 1),
        ("raise KeyboardInterrupt", "error", 1),
    ],
)
def test_the_exit_code_says_how_it_ended(sandbox: Sandbox, ending: str, status: str, code: int):
    ran = sandbox.run("print('before', flush=True)\n" + ending)
    assert (ran.stdout, ran.status, ran.exit_code, ran.ok) == ("before\n", status, code, status == "ok")


def test_a_traceback_names_the_programs_own_lines_alone(sandbox: Sandbox):
    ran = sandbox.run("def f():\n    return 1 / 0\nf()")
    lines = ran.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "ZeroDivisionError: division by zero"
    assert [line.strip() for line in lines if "File" in line] == [
        'File "main.py", line 3, in <module>',
        'File "main.py", line 2, in f',
    ]


def test_exit_functions_and_other_threads_finish_before_the_end(sandbox: Sandbox):
    program = (
        "import atexit, threading, time\natexit.register(print, 'exit')\n"
        "threading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()\nprint('main')"
    )
    assert sandbox.run(program).stdout == "main\nthread\nexit\n"


def test_input_can_be_opened_by_its_device_name(each: Sandbox):
    assert each.run("print(open('/dev/stdin').read())", stdin="ab").stdout == "ab\n"
    assert each.run("import sys\nsys.stdin = open('/dev/stdin')\nprint(input())", stdin="cd\n").stdout == "cd\n"


def test_files_that_do_not_fit_are_a_fault_and_no_verdict(each: Sandbox):
    with pytest.raises(SandboxError, match="No space left"):
        each.run("print(1)", files={f"f{i}": "x" * (3 << 20) for i in range(9)})
    with pytest.raises(SandboxError, match="cannot prepare"):
        each.run_tests("x = 1" + " " * (9 << 20), [CallTest("x", [], 1)])


def test_many_threads_fit_into_the_memory(sandbox: Sandbox):
    program = (
        "import threading\nb = threading.Barrier(11)\n"
        "for _ in range(10): threading.Thread(target=lambda: (bytearray(1 << 20), b.wait())).start()\n"
        "b.wait(); print('ok')"
    )
    assert sandbox.run(program, limits=Limits(memory_mb=256)).stdout == "ok\n"


def test_bytes_that_are_no_text_are_replaced_and_a_long_input_arrives_whole(sandbox: Sandbox):
    assert sandbox.run("import os; os.write(1, b'a\\xff\\x00b')").stdout == "a\ufffd\x00b"
    assert sandbox.run("print(len(input()))", stdin="x" * 2_000_000).stdout == "2000000\n"


def test_output_is_cut_at_the_bound(sandbox: Sandbox):
    exact = sandbox.run("print('x' * 1023)", limits=Limits(output_kb=1))
    over = sandbox.run("print('x' * 1024)", limits=Limits(output_kb=1))
    assert (exact.status, len(exact.stdout)) == ("ok", 1024)
    assert (over.status, len(over.stdout)) == ("output", 1024)


@pytest.mark.parametrize(
    "before",
    [
        "",
        "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)",
        "import threading\ndef f():\n while True: pass\nthreading.Thread(target=f).start()",
    ],
)
def test_cpu_time_is_bounded_apart_from_wall_time(each: Sandbox, before: str):
    ran = each.run(before + "\nwhile True: pass", limits=Limits(wall_s=60, cpu_s=0.5))
    assert ran.status == "timeout" and 0.5 <= ran.cpu_s < 1.5


def test_cpu_time_decides_also_when_the_program_ended_before_anybody_looked(each: Sandbox):
    work = "import time\nwhile time.process_time() < {}: pass"
    limits = Limits(wall_s=60, cpu_s=0.5)
    assert each.run(work.format(0.3), limits=limits).status == "ok"
    assert each.run(work.format(0.501), limits=limits).status == "timeout"


@pytest.mark.slow
def test_a_busy_machine_changes_no_verdict(each: Sandbox):
    """Three busy loops for each processor: work of 0.7 s takes seconds, and neither limit counts those."""
    crowd = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3 * len(os.sched_getaffinity(0)))
    ]
    try:
        limits = Limits(wall_s=1, cpu_s=1)
        worked = each.run("import time\nwhile time.process_time() < 0.7: pass", limits=limits)
        slept = each.run("import time\ntime.sleep(60)", limits=limits)
        call = CallTest("f", [], None)
        (called,) = each.run_tests(
            "import time\ndef f():\n t = time.process_time()\n while time.process_time() - t < 0.6: pass",
            [call],
            limits=limits,
        )
    finally:
        for one in crowd:
            one.kill()
            one.wait()
    assert worked.status == "ok" and worked.seconds > 1, worked
    assert slept.status == "timeout" and slept.cpu_s < 0.5
    assert called.passed, called


def test_memory_is_that_of_the_limits_given_with_the_program(sandbox: Sandbox):
    program = "x = bytearray(300 << 20); print('had it')"
    assert sandbox.run(program, limits=Limits(memory_mb=200)).status == "memory"
    assert sandbox.run(program, limits=Limits(memory_mb=512)).stdout == "had it\n"


def test_processes_may_be_allowed(sandbox: Sandbox):
    if not counts_processes(sandbox.backend):
        pytest.skip("processes cannot be counted with these rights")
    program = "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('parent' if pid else 'child')"
    ran = sandbox.run(program, limits=Limits(fork=True))
    assert ran.stdout == "child\nparent\n"


def test_the_order_of_a_set_of_words_is_the_same_in_every_run(sandbox: Sandbox):
    program = "print(list({'alpha', 'beta', 'gamma', 'delta'}))"
    with Sandbox(backend=sandbox.backend, parallel=1) as other:  # type: ignore[arg-type]
        assert other.run(program).stdout == sandbox.run(program).stdout


def test_modules_can_be_added_from_a_folder(sandbox: Sandbox, tmp_path):
    (tmp_path / "extra_module.py").write_text("value = 7")
    tmp_path.chmod(0o755)
    with Sandbox(backend=sandbox.backend, parallel=1, paths=(str(tmp_path),)) as other:  # type: ignore[arg-type]
        assert other.run("import extra_module; print(extra_module.value)").stdout == "7\n"


def test_modules_that_no_one_loaded_ahead_can_be_imported(each: Sandbox):
    ran = each.run(
        "import configparser, sqlite3, xml.etree.ElementTree, email.message, tempfile, pathlib; print('fine')"
    )
    assert ran.stdout == "fine\n", ran.stderr


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", ""])
def test_a_file_outside_the_programs_folder_is_refused(sandbox: Sandbox, name: str):
    with pytest.raises(SandboxError, match="file name"):
        sandbox.run("", files={name: ""})


@pytest.mark.parametrize("bound", [{"wall_s": 0}, {"memory_mb": -1}, {"cpu_s": math.inf}, {"tasks": 0}])
def test_a_bound_that_is_none_is_refused_by_name(bound):
    with pytest.raises(SandboxError, match=next(iter(bound))):
        Limits(**bound)
