"""How fast programs run. Prints what it measures; asserts a third of what is promised for a quiet machine."""

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
        alone = []
        for _ in range(100):
            started = time.perf_counter()
            assert sandbox.run("print(1)").stdout == "1\n"
            alone.append(time.perf_counter() - started)
            time.sleep(0.01)
        sandbox.ready()
        started = time.perf_counter()
        with ThreadPoolExecutor(2 * sandbox.parallel) as threads:
            assert {ran.stdout for ran in threads.map(lambda _: sandbox.run("print(1)"), range(300))} == {"1\n"}
        rate = 300 / (time.perf_counter() - started)
        median, slow = statistics.median(alone) * 1e3, sorted(alone)[94] * 1e3
        with capsys.disabled():
            print(
                f"\n{sandbox.backend}: a trivial run takes {median:.1f} ms at the median, {slow:.1f} ms at the 95th "
                f"percentile; {rate:.0f} trivial programs per second on {sandbox.parallel} processors"
            )
    assert median < 45 and rate > 20
