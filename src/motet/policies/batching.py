"""Which rows go into which update. Pure, no torch.

Every function returns lists of row indices that together hold each index exactly once: nothing is duplicated to fill a
batch and nothing is dropped to round one off.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from motet.types import Row


def parts_by_group(rows: Sequence[Row], num_parts: int) -> list[list[int]]:
    """Split rows into at most `num_parts` parts, whole groups at a time, every role spread evenly over the parts.

    Groups are dealt, largest first, to the part that holds least of the group's roles, then least in all. Fewer
    groups than parts give fewer parts (never an empty one). Indices inside a part keep the order of `rows`.

    >>> def row(role, group):
    ...     return Row("p", 0, role, 0, 0, (1,), (2,), (0.0,), 1.0, 1.0, 1.0, (role, group), (role, group))
    >>> rows = [row("a", 0), row("a", 0), row("a", 1), row("a", 1), row("b", 0), row("b", 1)]
    >>> parts_by_group(rows, 2)
    [[0, 1, 4], [2, 3, 5]]
    """
    groups: dict[object, list[int]] = {}
    for index, row in enumerate(rows):
        groups.setdefault(row.group, []).append(index)
    parts: list[list[int]] = [[] for _ in range(num_parts)]
    held: list[Counter[str]] = [Counter() for _ in range(num_parts)]
    for members in sorted(groups.values(), key=lambda m: (-len(m), m[0])):
        roles = Counter(rows[i].role for i in members)
        best = min(range(num_parts), key=lambda p: (sum(held[p][r] * n for r, n in roles.items()), len(parts[p]), p))
        parts[best].extend(members)
        held[best].update(roles)
    return [sorted(part) for part in parts if part]


def parts_by_count(num_rows: int, rows_per_update: int) -> list[list[int]]:
    """Consecutive runs of `rows_per_update` rows, the last one short: ceil(num_rows / rows_per_update) updates.

    This is verl's arithmetic, where more rows per policy mean more steps: with 64 tasks x 8 samples and 512 rows per
    update three voters that share a policy give 3 updates, the aggregator 1, and all four on one policy 4.

    >>> parts_by_count(5, 2)
    [[0, 1], [2, 3], [4]]
    >>> [len(parts_by_count(n, 512)) for n in (3 * 512, 512, 4 * 512, 1100)]
    [3, 1, 4, 3]
    """
    return [list(range(start, min(start + rows_per_update, num_rows))) for start in range(0, num_rows, rows_per_update)]
