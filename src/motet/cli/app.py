"""The commands of `motet`, one function each; what they do lives in the package."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import typer

from motet.cli import learning, looking, machine
from motet.errors import MotetError

# typer carries click inside or beside it, depending on its version; this is the base of its errors in either
UsageMistake: Any = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="motet",
    help="Train teams of language-model roles with reinforcement learning.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("train")(learning.train)
app.command("sft")(learning.sft)
app.add_typer(learning.base, name="base")
app.command("eval")(looking.evaluate)
app.command("play")(looking.play)
app.command("report")(looking.report)
app.command("recipes")(machine.recipes)
app.command("doctor")(machine.doctor)
app.command("bench")(machine.bench)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, 2 for a mistake that was explained, 130 after Ctrl-C.

    >>> run(["recipes", "no-such-option"])
    2
    """
    try:
        code = app(args=None if arguments is None else list(arguments), standalone_mode=False)
        return code if isinstance(code, int) else 0
    except MotetError as error:
        sys.stderr.write(explained(error))
        return 2
    except UsageMistake as error:
        error.show()
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        sys.stderr.write("stopped\n")
        return 130


def explained(error: MotetError) -> str:
    """The lines a user reads: what, where, and the way out."""
    lines = [f"error: {error.what}"]
    if error.where:
        lines.append("  where: " + ", ".join(f"{key} {value}" for key, value in error.where.items()))
    if error.fix:
        lines.append(f"  to fix it: {error.fix}")
    return "\n".join(lines) + "\n"
