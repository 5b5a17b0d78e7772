"""A run that does not learn although it could: found in its metrics, and reported once. Axis: S seeds."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from action_balance.config.agent import AgentConfig
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.envs.spec import EnvSpec

#: Updates with finished episodes whose mean return is compared: the first and the last of a run, and how many must have
#: passed.
WINDOW, LONG = 20, 60
#: Least improvement that counts, as a share of the return.
IMPROVED = 0.01


def stalled(first: Sequence[float], last: Sequence[float]) -> bool:
    """Whether a return has not improved."""
    before, now = float(np.mean(first)), float(np.mean(last))
    return not now > before + IMPROVED * abs(before)


@dataclass
class StallWatch:
    """Watches the metrics of a run from its first update on, and reports once that a seed is stalled.

    A process that resumes a run does not know the first returns, nor what was reported: it begins with ``is_done``.
    """

    config: AgentConfig
    first_seed: int = 0
    spec: EnvSpec | None = None  # what the agents were built for
    returns: dict[int, list[float]] = field(default_factory=dict)  # of each seed: the first and the last updates'
    updates: dict[int, int] = field(default_factory=dict)  # with finished episodes, of each seed
    is_done: bool = False

    def __call__(self, metrics: HostMetrics) -> str | None:
        if self.is_done or self.config.uniform:
            return None
        for place, value in enumerate(np.asarray(metrics["episode_return"], float).tolist()):
            if not math.isfinite(value):
                continue
            known = self.returns.setdefault(place, [])
            known.append(value)
            del known[WINDOW : len(known) - WINDOW]
            self.updates[place] = self.updates.get(place, 0) + 1
            first, last = known[:WINDOW], known[-WINDOW:]
            if self.updates[place] < LONG or not stalled(first, last):
                continue
            of_seed = {name: float(values[place]) for name, values in metrics.items() if np.ndim(values) == 1}
            has_trunks = self.spec is None or not (self.spec.is_image or self.spec.is_mixed)
            separate = self.config.network.trunks == "separate" if has_trunks else None
            if reason := self.config.algorithm.stall_reason(of_seed, separate):
                self.is_done = True
                return (
                    f"seed {self.first_seed + place}: the return has not improved since the first updates (from "
                    f"{np.mean(first):.4g} to {np.mean(last):.4g}), and {reason}"
                )
        return None
