"""What two runs have in common: their metrics without times, their episodes and every byte of their weights."""

from motet.tracking import read_metrics


def timeless(folder):
    return [
        {key: value for key, value in line.items() if not key.startswith("time/")}
        for line in read_metrics(folder.metrics)
    ]


def weights(folder):
    """Every byte of the last checkpoint but the seconds in its state."""
    last = sorted(folder.checkpoints.glob("iteration-*"))[-1]
    found = {}
    for path in sorted(last.rglob("*")):
        if path.is_file():
            found[path.relative_to(last)] = path.read_bytes() if path.suffix != ".json" else b""
    assert any(path.suffix != ".json" for path in found)
    return found


def same(left, right):
    assert timeless(left) == timeless(right)
    assert left.episodes.read_bytes() == right.episodes.read_bytes()
    assert weights(left) == weights(right)
