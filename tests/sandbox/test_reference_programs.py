"""Reference programs pass their own tests under the settings that hold hostile ones.

The public sets are read from the folder in MOTET_CODE_DATA (humaneval.jsonl.gz, mbpp_sanitized.json); a handful of
programs of our own is always run.
"""

import ast
import gzip
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from motet.sandbox import CheckTest, Limits, Sandbox

OWN = {
    "gcd of a list": (
        "from math import gcd\nfrom functools import reduce\ndef all_gcd(xs): return reduce(gcd, xs, 0)",
        "assert all_gcd([12, 18, 30]) == 6\nassert all_gcd([]) == 0",
    ),
    "words by frequency": (
        "from collections import Counter\ndef top(text, n):\n"
        "    return [w for w, _ in sorted(Counter(text.split()).items(), key=lambda p: (-p[1], p[0]))[:n]]",
        "assert top('b a b c a b', 2) == ['b', 'a']",
    ),
    "primes": (
        "def primes(n):\n    sieve = [True] * (n + 1)\n    for i in range(2, int(n ** 0.5) + 1):\n"
        "        if sieve[i]: sieve[i * i :: i] = [False] * len(sieve[i * i :: i])\n"
        "    return [i for i in range(2, n + 1) if sieve[i]]",
        "assert primes(20) == [2, 3, 5, 7, 11, 13, 17, 19]\nassert len(primes(10 ** 6)) == 78498",
    ),
    "deep recursion": (
        "import sys\nsys.setrecursionlimit(60_000)\ndef depth(n): return 0 if n == 0 else 1 + depth(n - 1)",
        "assert depth(50_000) == 50_000",
    ),
    "types, heaps, decimals": (
        "from typing import List, Optional\nimport heapq, bisect, itertools, decimal, fractions, datetime, re, string\n"
        "def smallest(xs: List[int], k: int) -> Optional[List[int]]: return heapq.nsmallest(k, xs)\n"
        "def third() -> str: return str(fractions.Fraction(1, 3) + decimal.Decimal('1.5').__int__())",
        "assert smallest([3, 1, 2], 2) == [1, 2]\nassert third() == '4/3'",
    ),
    "a class": (
        "class Stack:\n    def __init__(self): self.items = []\n"
        "    def push(self, x): self.items.append(x); return self\n"
        "def run(xs):\n    s = Stack()\n    for x in xs: s.push(x)\n    return s.items[::-1]",
        "assert run([1, 2]) == [2, 1]",
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_a_correct_program_of_our_own_passes(each: Sandbox, name: str):
    program, tests = OWN[name]
    (result,) = each.run_tests(program, [CheckTest(tests)], limits=Limits())
    assert result.passed, result.detail


def public_programs(folder: Path) -> list[tuple[str, str, CheckTest]]:
    found = []
    with gzip.open(folder / "humaneval.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            tests = f"{row['test']}\ncheck({row['entry_point']})\n"
            check = CheckTest(tests, setup=row["prompt"], functions=(row["entry_point"],))
            found.append((row["task_id"], row["prompt"] + row["canonical_solution"], check))
    for row in json.loads((folder / "mbpp_sanitized.json").read_text()):
        body = ast.parse(row["code"]).body
        imports = [ast.unparse(node) for node in body if isinstance(node, (ast.Import, ast.ImportFrom))]
        functions = tuple(node.name for node in body if isinstance(node, ast.FunctionDef))
        check = CheckTest("\n".join(row["test_list"]), "\n".join(row["test_imports"] + imports), functions)
        found.append((f"MBPP/{row['task_id']}", row["code"], check))
    return found


@pytest.mark.slow
def test_every_public_reference_program_passes_under_the_default_limits(capsys: pytest.CaptureFixture[str]):
    folder = os.environ.get("MOTET_CODE_DATA")
    if not folder:
        pytest.skip("MOTET_CODE_DATA names no folder with humaneval.jsonl.gz and mbpp_sanitized.json")
    programs = public_programs(Path(folder))
    assert len(programs) == 591
    with Sandbox() as sandbox, ThreadPoolExecutor(2 * sandbox.parallel) as threads:
        sandbox.ready()
        started = time.monotonic()
        results = list(threads.map(lambda job: sandbox.run_tests(job[1], [job[2]])[0], programs))
        rate = len(programs) / (time.monotonic() - started)
        with capsys.disabled():
            print(f"\n{sandbox.backend}: {len(programs)} reference programs, {rate:.0f} per second")
    assert [(job[0], result.detail) for job, result in zip(programs, results) if not result.passed] == []
