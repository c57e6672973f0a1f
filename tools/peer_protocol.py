"""What a peer program and `motet bench` say to each other, one JSON object a line. Imports nothing of motet.

    bench -> peer   one line on standard input: run one iteration
    peer -> bench   {"versions": {...}, "settings": {...}} once, when it is ready for the first line
                    {"seconds": 3.1, "cpu_seconds": 3.1, "completions": 256, "tokens": 4096} after each iteration

Standard output belongs to the protocol alone: whatever a library prints goes to standard error. The end of standard
input ends the program.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from importlib.metadata import version
from typing import Any, TextIO

ALWAYS = ("torch", "transformers", "tokenizers", "accelerate", "datasets")


class Protocol:
    """The peer's side: `ready` once, then `wait` and `done` around each iteration."""

    def __init__(self) -> None:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--model", required=True, help="folder of save_pretrained, with its tokenizer")
        parser.add_argument("--work", required=True, help="JSON with the sizes of the work")
        parser.add_argument("--threads", type=int, required=True)
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument("--set", action="append", default=[], metavar="KEY=JSON", help="try another setting")
        found = parser.parse_args()
        self.model, self.threads, self.seed = found.model, found.threads, found.seed
        self.work: dict[str, int] = json.loads(found.work)
        self.tried = {key: json.loads(value) for key, _, value in (one.partition("=") for one in found.set)}
        self.out = _claim_stdout()
        self.start = self.cpu_start = 0.0

    def prompts(self, iteration: int, count: int) -> list[str]:
        """`count` prompts of exactly `prompt_tokens` words of the vocabulary (never the unknown word, id 0)."""
        draw = random.Random(f"{self.seed}/{iteration}")
        words = range(self.work["prompt_tokens"])
        return [" ".join(f"t{draw.randrange(1, self.work['vocab'])}" for _ in words) for _ in range(count)]

    def ready(self, package: str, settings: dict[str, Any]) -> None:
        """Says what will run: the versions of `package` and what it stands on, and every setting that was chosen."""
        self._say({"versions": {name: version(name) for name in (package, *ALWAYS)}, "settings": settings})

    def wait(self) -> None:
        """Returns when an iteration is wanted, with the clock started; ends the program when none will be."""
        if not sys.stdin.readline():
            self.out.flush()
            os._exit(0)  # inside a trainer's own loop: nothing of it is wanted any more
        self.start, self.cpu_start = time.perf_counter(), time.process_time()

    def done(self, lengths: list[int]) -> None:
        """Reports the iteration that began at `wait`; `lengths` holds the new tokens of every completion."""
        seconds, cpu_seconds = time.perf_counter() - self.start, time.process_time() - self.cpu_start
        counts = {"completions": len(lengths), "tokens": sum(lengths)}
        self._say({"seconds": seconds, "cpu_seconds": cpu_seconds, **counts})

    def _say(self, record: dict[str, Any]) -> None:
        self.out.write(json.dumps(record) + "\n")
        self.out.flush()


def _claim_stdout() -> TextIO:
    """The real standard output; from here on descriptor 1 writes to standard error."""
    kept = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return kept
