"""The rows of an update as finite numbers under one name each."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

#: The entries of a row that are no metrics.
KEYS = ("update", "seed", "steps")


def flat(rows: Sequence[Mapping[str, Any]], timing: Mapping[str, Any]) -> dict[str, float]:
    found = [_numbers(row) for row in rows]
    if len(found) == 1:
        metrics = found[0]
    else:
        names = dict.fromkeys(name for one in found for name in one)
        metrics = {name: _mean([one[name] for one in found if name in one]) for name in names}
        for row, one in zip(rows, found, strict=True):
            metrics |= {f"seed-{row['seed']}/{name}": number for name, number in one.items()}
    return metrics | {f"timing/{name}": number for name, number in _numbers(timing).items()}


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    named: dict[str, Any] = {}
    for name, value in row.items():
        if name not in KEYS:
            named |= {f"{name}/{i}": item for i, item in enumerate(value)} if isinstance(value, list) else {name: value}
    return {
        name: float(value) for name, value in named.items() if isinstance(value, int | float) and math.isfinite(value)
    }


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)
