"""What episodes of an evaluation came to, as numbers and as a table. Axes: K agents, E episodes."""

import math
from collections.abc import Mapping

import numpy as np
from rich.table import Table

from action_balance.files import Data
from action_balance.studies import statistics


def spread(values: np.ndarray) -> Data:
    """Of returns or scores, (K, E). Where there are several agents, they are the samples: their episodes share one."""
    values = np.asarray(values, np.float64)
    mean = statistics.mean(values.mean(axis=1) if len(values) > 1 else values[0])
    low, high = (None if math.isnan(end) else end for end in (mean.low, mean.high))
    return {
        "mean": mean.value,
        "low": low,
        "high": high,
        "median": float(np.median(values)),
        "min": float(values.min()),
        "max": float(values.max()),
    }


def score_table(
    title: str, word: str, seeds: int, action_modes: Mapping[str, Data], more: Mapping[str, list[str]]
) -> Table:
    """A column for each way of acting.

    Args:
        title: above the table.
        word: return or score, which is also its key in ``ways``.
        seeds: K.
        ways: the numbers of each way.
        more: other rows below.
    """
    over = f"{seeds} seeds" if seeds > 1 else "the episodes of one seed"
    table = Table(title=title, caption=f"95 % interval of the mean {word} over {over}")
    table.add_column("acting", no_wrap=True)
    for mode in action_modes:
        table.add_column(mode, justify="right", no_wrap=True)
    names = {f"mean {word}": "mean", "  95 % from": "low", "  95 % to": "high"}
    names |= {f"median {word}": "median", f"lowest {word}": "min", f"highest {word}": "max"}
    for name, key in names.items():
        table.add_row(name, *(short(one[word][key]) for one in action_modes.values()))
    for name, row in more.items():
        table.add_row(name, *row)
    return table


def short(value: float | None) -> str:
    """A number that fits into a narrow column; ``-`` for an interval that one sample alone cannot give."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
