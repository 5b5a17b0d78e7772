"""What is made of the metrics of an update: rows to log, numbers to show, a score, and a check. Axis: S seeds."""

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Shaped

from action_balance.errors import UserError

#: Memory in use is logged because it must not grow during a run of hours; where Linux has it.
GIB, STATUS = 2**30, Path("/proc/self/statm")

#: Metrics of one update by name, on the host, each with the leading axis S.
HostMetrics = Mapping[str, Shaped[np.ndarray, "S ..."]]


@dataclass(frozen=True)
class Progress:
    """What is shown after an update; means over seeds."""

    update: int
    steps: int  # of environments so far, summed over seeds
    episode_return: float  # mean; nan if no episode ended
    best_return: float  # of any seed; nan if no episode ended
    states: float | None = None  # reached so far; None where states cannot be enumerated
    bonus: float | None = None  # mean next-state bonus; None for a method without one


def rows(metrics: HostMetrics, update: int, steps: int, first_seed: int) -> list[dict[str, Any]]:
    seeds = len(metrics["episode_return"])
    return [
        {"update": update, "seed": first_seed + i, "steps": steps}
        | {name: values[i].tolist() for name, values in metrics.items()}
        for i in range(seeds)
    ]


def mean_metrics(metrics: HostMetrics, update: int, steps: int) -> dict[str, float]:
    """Means over the seeds, without metrics that are lists; nan where no seed has a finite number."""
    found: dict[str, float] = {"update": update, "steps": steps}
    for name, values in metrics.items():
        if values.ndim == 1:
            known = values[np.isfinite(values)]
            found[name] = float(known.mean()) if len(known) else float("nan")
    return found


def memory() -> dict[str, float]:
    """GiB in use on the host, and the peak on the device, each only where the system reports it."""
    sizes = {}
    if STATUS.exists():
        sizes["host_memory"] = int(STATUS.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    stats = jax.local_devices()[0].memory_stats() or {}
    if "peak_bytes_in_use" in stats:
        sizes["device_memory"] = stats["peak_bytes_in_use"]
    return {name: round(size / GIB, 4) for name, size in sizes.items()}


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
    broken = [name for name, values in metrics.items() if name.startswith("loss_") and not np.isfinite(values).all()]
    if not metrics["parameters_finite"].all():
        broken.append("parameters")
    if broken:
        good = f"the last good checkpoint is that of update {saved[-1]}" if saved else "there is no checkpoint yet"
        raise UserError(
            f"update {update}: {', '.join(broken)} became NaN or infinite; {good}. A smaller --learning-rate than "
            f"{learning_rate:g} may help"
        )
