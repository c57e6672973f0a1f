"""The commands of `motet`, one function each; what they do lives in the package."""

from __future__ import annotations

import os
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

import motet
from motet.cli import learning, looking, machine
from motet.errors import MotetError, visible

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
app.command("matrix")(machine.matrix)


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
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # who read our lines has gone
        return 0
    except OSError as error:
        sys.stderr.write(explained(MotetError(error.strerror or str(error), where={"file": error.filename or "?"})))
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
    if (place := raised_at(error)) is not None:
        lines.append(f"  raised at: {place}")
    if error.fix:
        lines.append(f"  to fix it: {error.fix}")
    return visible("\n".join(lines)) + "\n"


def raised_at(error: BaseException) -> str | None:
    """The line of the user's own code behind an error, innermost first; None where only libraries took part."""
    while error.__cause__ is not None:
        error = error.__cause__
    libraries = (
        str(Path(motet.__file__).parent),
        *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
    )
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_file() and not frame.filename.startswith(libraries):
            return f"{frame.filename} line {frame.lineno}, in {frame.name}"
    return None
