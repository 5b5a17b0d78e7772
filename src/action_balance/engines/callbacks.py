"""What a program learns of a training while it runs, and how it ends it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from action_balance.agent.state import TrainState
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.errors import UserError


@dataclass
class Update:
    """An update of a run that has just been completed and logged."""

    update: int
    """Its number, from 1 on."""
    updates: int
    """Total number of updates planned for the run."""
    steps: int
    """Environment steps per seed so far."""
    metrics: Mapping[str, float]
    """Metrics by name, each the mean over the seeds that have it, e.g. over those in which an episode ended; nan where
    none has. `rows` has those that are lists."""
    rows: Sequence[Mapping[str, Any]]
    """One row for each seed, as in ``metrics.jsonl``."""
    state: Callable[[], TrainState] = field(repr=False)
    """Returns the state after this update, with a leading axis for the seeds; only until the callback returns, because
    the next update reuses its memory."""
    _stopped: bool = field(default=False, repr=False)

    def stop(self) -> None:
        """Stop training after this update. A checkpoint is saved, and the run can be resumed."""
        self._stopped = True

    @property
    def is_stopped(self) -> bool:
        """Whether training stops after this update."""
        return self._stopped


#: Called after every update; it ends the training if it returns False, or calls `Update.stop`.
Callback = Callable[[Update], object]


def as_callbacks(given: Callback | Sequence[Callback]) -> tuple[Callback, ...]:
    """One callback or several, as several.

    Args:
        given: a function, or functions.

    Returns:
        The functions; a `UserError` if one cannot be called.
    """
    functions = (given,) if callable(given) or not isinstance(given, Iterable) else tuple(given)
    for one in functions:
        if not callable(one):
            raise UserError(f"a callback is a function that takes an Update, not {type(one).__name__}")
    return functions


def mean_metrics(metrics: HostMetrics, update: int, steps: int) -> dict[str, float]:
    """Means over the seeds.

    Args:
        metrics: of one update, each with the leading axis S.
        update: its number.
        steps: environment steps of each seed so far.

    Returns:
        Numbers by name, without metrics that are lists; nan where no seed has a finite number.
    """
    found: dict[str, float] = {"update": update, "steps": steps}
    for name, values in metrics.items():
        if values.ndim == 1:
            known = values[np.isfinite(values)]
            found[name] = float(known.mean()) if len(known) else float("nan")
    return found


def call(callbacks: Sequence[Callback], made: Update) -> bool:
    """Call all callbacks.

    Args:
        callbacks: in their order; all are called.
        made: the update.

    Returns:
        Whether the training is to end.
    """
    for callback in callbacks:
        if callback(made) is False:
            made.stop()
    return made.is_stopped
