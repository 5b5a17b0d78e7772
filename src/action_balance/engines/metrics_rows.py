"""What is made of the metrics of an update: rows to log, numbers to show, a score, and a check. Axis: S seeds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Shaped

from action_balance.errors import UserError

#: Metrics of one update by name, on the host, each with the leading axis S.
HostMetrics = Mapping[str, Shaped[np.ndarray, "S ..."]]


@dataclass(frozen=True)
class Progress:
    """What is shown after an update; means over seeds."""

    update: int
    """Its number."""
    steps: int
    """Environment steps so far, summed over seeds."""
    episode_return: float
    """Mean return; nan if no episode ended."""
    best_return: float
    """Highest return of any seed; nan if no episode ended."""
    states: float | None = None
    """States reached so far; None where states cannot be enumerated."""
    bonus: float | None = None
    """Mean next-state bonus; None for a method without one."""


def rows(metrics: HostMetrics, update: int, steps: int, first_seed: int) -> list[dict[str, Any]]:
    """The rows to log."""
    seeds = len(metrics["episode_return"])
    return [
        {"update": update, "seed": first_seed + i, "steps": steps}
        | {name: values[i].tolist() for name, values in metrics.items()}
        for i in range(seeds)
    ]


def score(metrics: HostMetrics) -> float | None:
    """The score of a checkpoint: mean return over the seeds that ended an episode; None if none did."""
    returns = metrics["episode_return"]
    known = returns[np.isfinite(returns)]
    return float(known.mean()) if len(known) else None


def progress(metrics: HostMetrics, update: int, steps: int) -> Progress:
    """What is shown after an update; the arguments are those of `rows`."""

    def mean(name: str) -> float | None:
        return float(metrics[name].mean()) if name in metrics else None

    known = score(metrics)
    return Progress(
        update=update,
        steps=steps * len(metrics["episode_return"]),
        episode_return=math.nan if known is None else known,
        best_return=math.nan if known is None else float(np.nanmax(metrics["best_return"])),
        states=mean("states"),
        bonus=mean("bonus_mean"),
    )


def check_finite(metrics: HostMetrics, update: int, saved: Sequence[int], learning_rate: float) -> None:
    """Raise a `UserError` before a broken update is saved."""
    broken = [name for name, values in metrics.items() if name.startswith("loss_") and not np.isfinite(values).all()]
    if not metrics["parameters_finite"].all():
        broken.append("parameters")
    if broken:
        good = f"the last good checkpoint is that of update {saved[-1]}" if saved else "there is no checkpoint yet"
        raise UserError(
            f"update {update}: {', '.join(broken)} became NaN or infinite; {good}. A smaller --learning-rate than "
            f"{learning_rate:g} may help"
        )
