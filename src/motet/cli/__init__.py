"""The command line. `main` is the entry point; nothing here imports torch before a command needs it."""

from __future__ import annotations


def main() -> None:
    """Run the command line; an error of this package is one message and exit code 2, never a traceback."""
    from motet.cli.app import run

    raise SystemExit(run())
