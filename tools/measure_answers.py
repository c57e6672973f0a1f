"""Measures the answer checker on data sets: rewrites of each right answer must be accepted, near misses rejected.

    python tools/measure_answers.py DATA_DIR [--json FILE] [--sets aime24,math500]

DATA_DIR holds aime24.test.jsonl, aime25.test.jsonl, amc23.test.jsonl, math500.test.jsonl, olympiadbench.test.jsonl and
gsm8k.test.jsonl, each with the rows of its home (docs/tasks.md). Every row is tried with every rule that applies to it;
docs/answers.md lists the rules. Exit status 1 when a rate is above 0.5%.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

from answer_rules import boxed, gold, near_misses, rewrites

from motet.tasks.base import make_task_set
from motet.tasks.rows import read_rows

SETS = ("aime24", "aime25", "amc23", "math500", "olympiadbench", "gsm8k")
LIMIT = 0.005


def solution(row: dict) -> str:
    """The worked solution of a row, where it marks its answer."""
    text = row["answer"] if "####" in str(row.get("answer")) else row.get("solution")
    return text if isinstance(text, str) and any(mark in text for mark in (r"\boxed", r"\framebox", "####")) else ""


def measure(folder: Path, name: str) -> dict:
    """Counts per rule and the exceptions of one set."""
    source = str(folder / f"{name}.test.jsonl")
    tasks = make_task_set(name, test=source)
    solutions = [solution(row) for _, row in read_rows(source, "", name)]
    if len(solutions) != tasks.size("test"):
        raise SystemExit(f"{name}: rows were left out: {tasks.left_out}")
    tried: Counter[str] = Counter()
    wrong: list[dict[str, str]] = []
    start = time.perf_counter()
    for index in range(tasks.size("test")):
        task = tasks.task("test", index)
        other = tasks.task("test", (index + 1) % tasks.size("test"))
        own = [("A42 the row's own solution", solutions[index])] if solutions[index] else []
        foreign = [("N23 answer of the next row", boxed(gold(other)))] if gold(other) != gold(task) else []
        for wanted, made in ((1.0, [*rewrites(task), *own]), (0.0, [*near_misses(task), *foreign])):
            for rule, text in made:
                tried[rule] += 1
                if task.check(text) != wanted:
                    wrong.append({"id": task.id, "rule": rule, "gold": task.answer, "text": text})
    accepted = sum(count for rule, count in tried.items() if rule.startswith("A"))
    rejected = sum(tried.values()) - accepted
    return {
        "set": name,
        "rows": tasks.size("test"),
        "rewrites": accepted,
        "false_rejects": sum(one["rule"].startswith("A") for one in wrong),
        "near_misses": rejected,
        "false_accepts": sum(one["rule"].startswith("N") for one in wrong),
        "seconds": round(time.perf_counter() - start, 1),
        "tried": dict(sorted(tried.items())),
        "exceptions": wrong,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--sets", default=",".join(SETS))
    given = parser.parse_args()
    results = [measure(given.folder, name) for name in given.sets.split(",")]
    print("| set | rows | rewrites | rejected wrongly | near misses | accepted wrongly | seconds |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for one in results:
        bad, good = one["false_rejects"] / one["rewrites"], one["false_accepts"] / one["near_misses"]
        print(
            f"| {one['set']} | {one['rows']} | {one['rewrites']} | {one['false_rejects']} ({bad:.2%}) "
            f"| {one['near_misses']} | {one['false_accepts']} ({good:.2%}) | {one['seconds']} |"
        )
    rules = sum((Counter(one["tried"]) for one in results), Counter())
    failed = Counter(wrong["rule"] for one in results for wrong in one["exceptions"])
    print("\n" + "; ".join(f"{rule} {count} ({failed[rule]} wrong)" for rule, count in sorted(rules.items())))
    for one in results:
        for wrong in one["exceptions"]:
            print(f"{wrong['rule']} {wrong['id']}: gold {wrong['gold']!r}, text {wrong['text']!r}")
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    rejects = sum(one["false_rejects"] for one in results) / sum(one["rewrites"] for one in results)
    accepts = sum(one["false_accepts"] for one in results) / sum(one["near_misses"] for one in results)
    print(f"\nrejected wrongly {rejects:.3%}, accepted wrongly {accepts:.3%}; limit {LIMIT:.1%}")
    return int(max(rejects, accepts) > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
