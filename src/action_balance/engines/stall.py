"""A run that does not learn because its values drown its policy: found in its metrics, and reported once.

One network, or one clipped gradient, is shared by the policy and the values. Where returns are large, the value loss is
larger than the policy's by orders of magnitude, and the policy stays as it was. Axis: S seeds.
"""

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
#: The value loss dwarfs the policy's from this ratio on; smaller policy losses than this count as this.
DWARFS, LEAST_POLICY_LOSS = 1000.0, 0.01


def stalled(first: Sequence[float], last: Sequence[float], value_loss: float, policy_loss: float) -> bool:
    """Whether a return has not improved while the value loss dwarfs the policy's."""
    before, now = float(np.mean(first)), float(np.mean(last))
    improved = now > before + IMPROVED * abs(before)
    return not improved and value_loss >= DWARFS * max(abs(policy_loss), LEAST_POLICY_LOSS)


def remedy(config: AgentConfig, has_trunks: bool = True) -> str:
    missing = [] if config.ppo.normalize_returns else ["--normalize-returns"]
    missing += ["--trunks separate"] if has_trunks and config.net.trunks == "shared" else []
    return f"--preset classic, or {' and '.join(missing)}" if missing else "a smaller --reward-scale or --value-coef"


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
        if self.is_done or "loss_value_ext" not in metrics:
            return None
        for place, value in enumerate(np.asarray(metrics["episode_return"], float).tolist()):
            if not math.isfinite(value):
                continue
            known = self.returns.setdefault(place, [])
            known.append(value)
            del known[WINDOW : len(known) - WINDOW]
            self.updates[place] = self.updates.get(place, 0) + 1
            first, last = known[:WINDOW], known[-WINDOW:]
            value_loss, policy_loss = (float(metrics[name][place]) for name in ("loss_value_ext", "loss_policy"))
            if self.updates[place] >= LONG and stalled(first, last, value_loss, policy_loss):
                self.is_done = True
                has_trunks = self.spec is None or not (self.spec.is_image or self.spec.is_mixed)
                return (
                    f"seed {self.first_seed + place}: the return has not improved since the first updates (from "
                    f"{np.mean(first):.4g} to {np.mean(last):.4g}), and the value loss of {value_loss:.3g} is much "
                    f"larger than that of the policy, which may not be learning. Try {remedy(self.config, has_trunks)}"
                )
        return None
