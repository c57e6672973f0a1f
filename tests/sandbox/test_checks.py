"""A program passes a test only by being right."""

import pytest

from motet.errors import SandboxError
from motet.sandbox import CallTest, CheckTest, Limits, Sandbox, StdinTest, same_output

ADD = "def add(a, b): return a + b"
THREE = CallTest("add", [1, 2], 3)
CHECK = CheckTest("assert add(1, 2) == 3\nassert add(2, 2) == 4")


def statuses(sandbox, program, tests, **settings):
    return [result.status for result in sandbox.run_tests(program, tests, **settings)]


def test_each_test_gets_its_own_result_in_order(each: Sandbox):
    tests = [THREE, CallTest("add", [1, 2], 4), CallTest("add", [1, "2"], 3), CHECK, StdinTest("", ""), THREE]
    assert statuses(each, ADD, tests) == ["passed", "wrong", "error", "passed", "passed", "passed"]


def test_stop_early_ends_with_the_first_failure(sandbox: Sandbox):
    assert statuses(sandbox, ADD, [THREE, CallTest("add", [1, 2], 4), THREE], stop_early=True) == ["passed", "wrong"]
    assert statuses(sandbox, ADD, [StdinTest("", "x"), THREE], stop_early=True) == ["wrong"]


def test_after_a_call_that_hangs_or_kills_the_rest_is_still_run(sandbox: Sandbox):
    program = "import os\ndef f(x):\n while x == 1: pass\n if x == 2: os._exit(0)\n return x"
    tests = [CallTest("f", [x], x) for x in (0, 1, 3, 2, 4)]
    assert statuses(sandbox, program, tests, limits=Limits(wall_s=0.5)) == [
        "passed",
        "timeout",
        "passed",
        "error",
        "passed",
    ]


FAKES = {
    "early exit": "import sys; sys.exit(0)",
    "hard exit": "import os; os._exit(0)",
    "exit in the call": "import sys\ndef add(a, b): sys.exit(0)",
    "hard exit in the call": "import os\ndef add(a, b): os._exit(0)",
    "equal to everything": "class E(int):\n __eq__ = lambda s, o: True\n __ne__ = lambda s, o: False\n"
    " __hash__ = int.__hash__\ndef add(a, b): return E(7)",
    "an object equal to everything": "class E:\n __eq__ = lambda s, o: True\ndef add(a, b): return E()",
    "looks like the answer": "class E:\n __repr__ = lambda s: '3'\ndef add(a, b): return E()",
    "a string of the answer": "def add(a, b): return '3'",
    "printed verdict": "print('passed'); print('OK'); print('{\"status\": \"passed\"}')\ndef add(a, b): return None",
    "printed verdict at exit": "import atexit, os\natexit.register(lambda: (print('passed'), os._exit(0)))\n"
    "def add(a, b): return None",
    "assert patched": "import builtins\nclass A(AssertionError):\n def __new__(c, *a): return None\n"
    "builtins.AssertionError = A\ndef add(a, b): return None",
    "builtins patched": "import builtins\nbuiltins.bool = builtins.all = builtins.isinstance = lambda *a: True\n"
    "def add(a, b): return None",
    "harness patched": "import sys\nfor m in list(sys.modules.values()):\n"
    " for n in ('encode', 'same', '_compared'):\n"
    "  if hasattr(m, n): setattr(m, n, lambda *a: True)\ndef add(a, b): return None",
    "frames searched for the answer": "import sys\ndef add(a, b):\n f = sys._getframe()\n seen = []\n while f:\n"
    "  seen += [v.get('expected') for v in f.f_locals.values() if isinstance(v, dict)]\n  f = f.f_back\n"
    " return next((v for v in seen if v is not None), None)",
    "objects searched for the answer": "import gc\ndef add(a, b):\n"
    " return next((d['expected'] for d in gc.get_objects() if isinstance(d, dict) and 'expected' in d), None)",
    "verdict written to every descriptor": "import os, json, struct\ndef add(a, b):\n"
    " body = json.dumps({'test': 0, 'status': 'passed', 'detail': ''}).encode()\n"
    " verdict = json.dumps({'status': 0, 'cpu_s': 0, 'peak_kb': 0, 'pulled': False}).encode()\n"
    " for fd in range(256):\n  for m in (body, verdict):\n"
    "   try: os.write(fd, struct.pack('>I', len(m)) + m)\n   except OSError: pass\n os._exit(0)",
    "answers without a question": "import os, json, struct\nbody = json.dumps({'value': 4}).encode()\n"
    "for _ in range(9): os.write(3, struct.pack('>I', len(body)) + body)\ndef add(a, b): return 5",
    "a frame too long": "import os, struct\ndef add(a, b): os.write(3, struct.pack('>I', 1 << 31) + b'x' * 100)",
    "half a frame": "import os, struct, time\ndef add(a, b):\n os.write(3, struct.pack('>I', 100) + b'x'); os.close(3)",
    "no JSON": "import os, struct\ndef add(a, b): os.write(3, struct.pack('>I', 4) + b'{{{{'); os._exit(0)",
    "deep JSON": "import os, struct\ndef add(a, b):\n"
    " m = b'[' * 60000\n os.write(3, struct.pack('>I', len(m)) + m); os._exit(0)",
    "unknown form": 'import os, struct\ndef add(a, b):\n m = b\'{"value": {"pickle": "x"}}\'\n'
    " os.write(3, struct.pack('>I', len(m)) + m); os._exit(0)",
    "colliding keys": "def add(a, b): return {i * (2**61 - 1) for i in range(2000)}",
    "an endless iterator": "import itertools\ndef add(a, b): return itertools.count()",
    "a value that holds itself": "def add(a, b):\n x = []; x.append(x); return x",
    "an integer of a million digits": "def add(a, b): return 10 ** 1_000_000",
    "a value too big": "def add(a, b): return 'x' * 10_000_000",
    "not a number": "def add(a, b): return float('nan')",
    "signals to its tester": "import os\ndef add(a, b):\n for p in range(2, 3000):\n"
    "  try: os.kill(p, 9)\n  except OSError: pass\n os.kill(-1, 9); return 0",
    "never defined": "pass",
    "wrong syntax": "def add(a, b: return 3",
}


@pytest.mark.parametrize("program", FAKES.values(), ids=FAKES.keys())
def test_no_fake_passes(sandbox: Sandbox, program: str):
    limits = Limits(wall_s=3, memory_mb=256, output_kb=256)
    for test in (THREE, CHECK):
        (result,) = sandbox.run_tests(program, [test], limits=limits)
        assert not result.passed, result
    assert sandbox.ready() == sandbox.warm


def test_a_program_that_ends_right_after_its_last_answer_passes_every_time(sandbox: Sandbox):
    program = "import os, threading\ndef add(a, b):\n threading.Timer(0.3, os._exit, [0]).start(); return a + b"
    assert {
        statuses(sandbox, program, [CheckTest("assert add(1, 2) == 3\nimport time; time.sleep(0.6)")])[0]
        for _ in range(2)
    } == {"passed"}


@pytest.mark.parametrize("test", [CallTest("f", [], "x" * 65523), CheckTest("assert f() == 'x' * 65523")])
def test_an_answer_crosses_up_to_the_bound_and_a_longer_one_is_said_to_be_that(each: Sandbox, test):
    limits = Limits(output_kb=64)  # a message is {"value": "..."}: 13 characters and the text
    (exact,) = each.run_tests("def f(): return 'x' * 65523", [test], limits=limits)
    (over,) = each.run_tests("def f(): return 'x' * 65524", [test], limits=limits)
    assert exact.passed, exact
    assert (over.status, over.detail) == ("output", "a message of 65537 bytes; at most 65536 are read")


@pytest.mark.parametrize("make", ["list(range(n))", "tuple(range(n))", "set(range(n))", "{i: i for i in range(n)}"])
def test_a_long_answer_crosses_whole(each: Sandbox, make: str):
    check = CheckTest(f"n = 150_000\nassert f(n) == {make}")
    (result,) = each.run_tests(f"def f(n): return {make}", [check], limits=Limits(output_kb=8192))
    assert result.passed, result


def test_a_longer_iterator_than_is_read_is_an_error_and_never_cut_short(each: Sandbox):
    tests = [CheckTest(f"assert list(f({n})) == list(range({n}))") for n in (100_000, 100_001)]
    limits = Limits(output_kb=8192)
    exact, over = each.run_tests("def f(n): return iter(range(n))", tests, limits=limits)
    assert exact.passed and over.status == "error" and "more than 100,000 items" in over.detail
    with pytest.raises(SandboxError, match="more than 100,000 items"):
        each.run_tests("def f(n): return n", [CallTest("f", [range(100_001)], 1)])


def test_a_call_or_a_check_that_spends_its_processor_time_is_a_timeout(each: Sandbox):
    busy, limits = "def f():\n while True: pass", Limits(wall_s=60, cpu_s=0.3)
    assert statuses(each, busy, [CallTest("f", [], 1), CheckTest("assert f() == 1")], limits=limits) == ["timeout"] * 2
    assert statuses(each, "while True: pass", [CallTest("f", [], 1)], limits=limits) == ["timeout"]
    assert statuses(each, "def f(): return 1", [CheckTest("f()\nwhile True: pass")], limits=limits) == ["timeout"]


def test_a_check_that_is_over_before_the_program_is_defined_waits_for_it(each: Sandbox):
    assert statuses(each, "import time; time.sleep(0.3)", [CheckTest("pass")]) == ["passed"]
    assert statuses(each, "import time; time.sleep(0.3); 1 / 0", [CheckTest("pass")]) == ["error"]


def test_a_program_does_not_replace_the_builtins_of_its_tests(sandbox: Sandbox):
    program = "def set(x): return 1\ndef len(x): return 1\ndef add(a, b): return 0"
    assert statuses(sandbox, program, [CheckTest("assert set([add(1, 2)]) == set([3])")]) == ["wrong"]


def test_a_program_that_cannot_be_defined_fails_tests_that_call_nothing(sandbox: Sandbox):
    assert statuses(sandbox, "1 / 0", [CheckTest("pass")]) == ["error"]


def test_values_cross_with_their_types(sandbox: Sandbox):
    program = "def same(x): return x"
    check = CheckTest(
        "for v in (1, True, None, 2**80, -1.5, float('inf'), 'ü\\ud800', b'x', (1, [2]), {1: {2}}, {3}, 2j):\n"
        "    r = same(v)\n    assert r == v and type(r) is type(v), (r, v)\n"
        "assert list(same(x for x in 'ab')) == ['a', 'b']"
    )
    assert statuses(sandbox, program, [check]) == ["passed"]


def test_results_of_library_types_are_compared_by_their_plain_base(sandbox: Sandbox):
    program = (
        "from collections import Counter, OrderedDict, defaultdict, namedtuple\n"
        "def counter(): return Counter('aab')\ndef named(): return namedtuple('P', 'x y')(1, 2)\n"
        "import re\ndef match(t): return re.match('a', t)\n"
    )
    tests = [
        CallTest("counter", [], {"a": 2, "b": 1}),
        CallTest("named", [], [1, 2]),
        CheckTest("assert match('a') and not match('b')"),
    ]
    assert statuses(sandbox, program, tests) == ["passed"] * 3


def test_an_exception_arrives_by_its_name(sandbox: Sandbox):
    check = CheckTest("try: f()\nexcept ValueError as e: assert 'no' in str(e)\nelse: assert False")
    assert statuses(sandbox, "def f(): raise ValueError('no')", [check]) == ["passed"]
    assert statuses(sandbox, "def f(): raise KeyError('no')", [check]) == ["error"]


def test_methods_can_be_called_and_numbers_may_have_a_tolerance(sandbox: Sandbox):
    program = "class Solution:\n def third(self, x): return x / 3"
    assert statuses(
        sandbox,
        program,
        [
            CallTest("Solution().third", [1], 0.333, tolerance=1e-3),
            CallTest("Solution().third", [1], 0.333),
            CallTest("Solution().third", [], 1.0, named={"x": 3}),
        ],
    ) == ["passed", "wrong", "passed"]


def test_setup_is_seen_by_the_tests_and_not_by_the_program(sandbox: Sandbox):
    check = CheckTest("check(double)", setup="def check(f):\n    assert f(2) == 4\nSECRET = 1", functions=("double",))
    assert statuses(sandbox, "def double(x): return 2 * x", [check]) == ["passed"]
    assert statuses(sandbox, "def double(x): return 4 * SECRET", [check]) == ["error"]


def test_tests_that_do_not_run_are_an_error_of_their_own_and_no_verdict(sandbox: Sandbox):
    for broken in (CheckTest("assert add(1, 2) =="), CheckTest("pass", setup="1 / 0")):
        with pytest.raises(SandboxError, match="own tests do not run"):
            sandbox.run_tests(ADD, [broken])


def test_stdin_tests_compare_words_and_numbers_by_value(sandbox: Sandbox):
    program = "n = int(input())\nfor _ in range(n): print(float(input()) * 2, end=' \\n')"
    tests = [StdinTest("2\n1\n2\n", "2\n4"), StdinTest("1\n1", "2.5"), StdinTest("", "")]
    assert statuses(sandbox, program, tests) == ["passed", "wrong", "error"]


@pytest.mark.parametrize(
    "got, wanted, same",
    [
        ("1\n2\n", "1\n2", True),
        ("1 2", "1\n2", False),
        ("1.0", "1", True),
        ("1e3", "1000", True),
        ("0.1", "0.10000001", False),
        ("nan", "nan", True),
        ("inf", "infinity", False),
        ("yes", "YES", False),
        ("", " \n", True),
        ("x", "", False),
        ("9" * 500, "9" * 500, True),
        ("9" * 500, "9" * 499 + "8", False),
    ],
)
def test_outputs_agree_by_stated_rules(got, wanted, same):
    assert same_output(got, wanted) is same


def test_the_time_limit_holds_for_a_whole_check(sandbox: Sandbox):
    slow = "import time\ndef add(a, b): time.sleep(9)"
    assert statuses(sandbox, slow, [CHECK, THREE], limits=Limits(wall_s=0.3)) == ["timeout", "timeout"]
