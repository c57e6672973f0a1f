"""The program inside an answer, running it in the sandbox, and what a prompt shows of its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from motet.sandbox import Limits, Ran, shared
from motet.tasks.code_answers import find_program

__all__ = ["Output", "arun_program", "find_program", "output_of", "run_program", "shorten"]


def shorten(text: str, limit: int) -> str:
    """`text`, or its beginning and end with a note between them that tells how much is left out: at most `limit`
    characters. Where not even the note has room, the first `limit` characters.

    >>> shorten("abc", 3), shorten("a" * 30 + "z" * 30, 40)
    ('abc', 'aaaaaaa [46 characters left out] zzzzzzz')
    """
    if len(text) <= limit:
        return text
    left_out = len(text)
    for _ in range(3):  # the note's own length depends on the number in it
        note = f" [{left_out} characters left out] "
        keep = max(0, limit - len(note))
        left_out = len(text) - keep
    if not keep:
        return text[: max(0, limit)]
    return text[: (keep + 1) // 2] + note + text[len(text) - keep // 2 :]


@dataclass(frozen=True, slots=True)
class Output:
    """What a program did, as plain text: `status` is that of `motet.sandbox.Ran`, or `none` where there was no program.

    `error` is the last line of the traceback. JSON by `as_notes`, so that it can be the notes of a reward.

    >>> Output("ok", "42\\n").shown(), Output("timeout").shown(), Output("none").shown()
    ('42', 'It did not end in time.', 'There was no program.')
    """

    status: str
    stdout: str = ""
    error: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    def as_notes(self) -> dict[str, Any]:
        return {"status": self.status, "stdout": self.stdout, "error": self.error}

    def shown(self, limit: int = 1000) -> str:
        """What a chat prompt says of it: the output, and how it ended where it did not end well."""
        printed = shorten(self.stdout.strip(), limit)
        if self.status == "ok":
            return printed or "It printed nothing."
        told = _ENDED[self.status] + (f" {shorten(self.error, limit)}" if self.error else "")
        return f"{printed}\n{told}" if printed else told


_ENDED = {
    "none": "There was no program.",
    "error": "It ended with an error.",
    "timeout": "It did not end in time.",
    "memory": "It needed too much memory.",
    "output": "It printed too much.",
}


def output_of(ran: Ran, limit: int = 10_000) -> Output:
    """What is kept of a run: its output and the last line of its traceback, each at most `limit` characters."""
    last = ran.stderr.rstrip().rsplit("\n", 1)[-1].strip()
    return Output(ran.status, shorten(ran.stdout, limit), shorten(last, limit) if ran.status == "error" else "")


def run_program(program: str | None, *, stdin: str = "", limits: Limits | None = None) -> Output:
    """Run `program` in the sandbox of this process (`motet.sandbox.shared`); None runs nothing and has status `none`.

    For a `score` or `read`, which run off the event loop. `limits`: by default those of the sandbox. Raises
    `SandboxError` where the sandbox itself fails: that is no output and no reward.
    """
    if program is None:
        return Output("none")
    return output_of(shared().run(program, stdin=stdin, limits=limits))


async def arun_program(program: str | None, *, stdin: str = "", limits: Limits | None = None) -> Output:
    """`run_program` for an event loop, which goes on while the program runs; several of them run side by side."""
    if program is None:
        return Output("none")
    return output_of(await shared().arun(program, stdin=stdin, limits=limits))
