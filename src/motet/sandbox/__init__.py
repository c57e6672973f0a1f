"""Runs untrusted programs; the only place that starts them. `docs/sandbox.md` says what holds them."""

from motet.sandbox.limits import Limits, Ran, Status
from motet.sandbox.sandbox import Sandbox, shared

__all__ = ["Limits", "Ran", "Sandbox", "Status", "shared"]
