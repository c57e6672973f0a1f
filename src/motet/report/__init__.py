"""`report.html`: one self-contained page about a run."""

from motet.report.page import write_report

__all__ = ["write_report"]
