"""How fast programs run. Prints what it measures; asserts only what a busy machine does not change much."""

import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from motet.errors import SandboxError
from motet.sandbox import Limits, Sandbox


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["bubblewrap", "namespaces"])
def test_a_trivial_run_takes_milliseconds_and_many_fit_in_a_second(backend, capsys: pytest.CaptureFixture[str]):
    with Sandbox(Limits(), backend=backend) as sandbox:
        try:
            sandbox.ready()
        except SandboxError as problem:
            pytest.skip(str(problem))
        alone, spent = [], []
        for _ in range(100):
            started = time.perf_counter()
            ran = sandbox.run("print(1)")
            alone.append(time.perf_counter() - started)
            spent.append(ran.cpu_s)
            assert ran.stdout == "1\n"
            time.sleep(0.01)
        sandbox.ready()
        started = time.perf_counter()
        with ThreadPoolExecutor(2 * sandbox.parallel) as threads:
            assert {ran.stdout for ran in threads.map(lambda _: sandbox.run("print(1)"), range(300))} == {"1\n"}
        rate = 300 / (time.perf_counter() - started)
        own, load = statistics.median(spent) * 1e3, os.getloadavg()[0]
        median, slow = statistics.median(alone) * 1e3, sorted(alone)[94] * 1e3
        with capsys.disabled():
            print(
                f"\n{sandbox.backend}: a trivial run takes {median:.1f} ms at the median, {slow:.1f} ms at the 95th "
                f"percentile; {rate:.0f} trivial programs per second on {sandbox.parallel} processors; load {load:.1f}"
            )
    assert own < 15 and rate > 5
