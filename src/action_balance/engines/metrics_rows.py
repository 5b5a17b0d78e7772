"""What an update tells: rows of metrics, a line for the screen, a score, and whether it is broken. Axes: S seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from action_balance.agent.learner import Metrics
from action_balance.errors import UserError


@dataclass(frozen=True)
class Progress:
    """What the screen shows after an update; means over seeds."""

    update: int
    steps: int  # of all seeds
    episode_return: float  # nan where no episode ended
    best_return: float  # the highest of any seed; nan where no episode ended
    states: float
    bonus: float


def rows(metrics: Metrics, update: int, steps: int, first_seed: int) -> list[dict[str, Any]]:
    """One for each seed.

    Args:
        metrics: (S, ...).
        update: its number.
        steps: of a seed until now.
        first_seed: the others follow.
    """
    names = [one.name for one in fields(Metrics)]
    return [
        {"update": update, "seed": first_seed + i, "steps": steps}
        | {name: getattr(metrics, name)[i].tolist() for name in names}
        for i in range(len(metrics.episode_return))
    ]


def score(metrics: Metrics) -> float | None:
    """What the best checkpoint has most of: return, mean over the seeds that ended an episode."""
    known = metrics.episode_return[np.isfinite(metrics.episode_return)]
    return float(known.mean()) if len(known) else None


def progress(metrics: Metrics, update: int, steps: int) -> Progress:
    """For the screen; the arguments are those of `rows`."""
    mean = score(metrics)
    return Progress(
        update=update,
        steps=steps * len(metrics.episode_return),
        episode_return=math.nan if mean is None else mean,
        best_return=math.nan if mean is None else float(np.nanmax(metrics.best_return)),
        states=float(metrics.states.mean()),
        bonus=float(metrics.bonus_mean.mean()),
    )


def check_finite(metrics: Metrics, update: int, saved: Sequence[int], learning_rate: float) -> None:
    """Stop before a broken update is kept.

    Args:
        metrics: (S, ...).
        update: its number.
        saved: the updates that have a checkpoint.
        learning_rate: that they were made with.
    """
    names = [one.name for one in fields(Metrics) if one.name.startswith("loss_")]
    bad = [name for name in names if not np.isfinite(getattr(metrics, name)).all()]
    if not metrics.parameters_finite.all():
        bad.append("parameters")
    if bad:
        good = f"the last good checkpoint is update {saved[-1]}" if saved else "there is no checkpoint yet"
        raise UserError(
            f"update {update}: {', '.join(bad)} not finite; {good}. A smaller --learning-rate than "
            f"{learning_rate:g} may help"
        )
