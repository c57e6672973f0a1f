"""Runs untrusted programs; the only place that starts them. `docs/sandbox.md` says what holds them."""

from motet.sandbox.checks import CallTest, CheckTest, StdinTest, TestResult, same_output
from motet.sandbox.limits import Limits, Ran, Status
from motet.sandbox.sandbox import Sandbox, configure, shared

__all__ = [
    "CallTest",
    "CheckTest",
    "Limits",
    "Ran",
    "Sandbox",
    "Status",
    "StdinTest",
    "TestResult",
    "configure",
    "same_output",
    "shared",
]
