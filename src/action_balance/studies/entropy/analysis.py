"""How flat the action bonus is (the paper's Figure 7): raw, L2, and channel with L2, in Montezuma's Revenge.

Two entropies describe a bonus vector r over k actions; both are ln k where it is flat. *Added* is that of
softmax(Normalize(r)), which the bonus would make of a uniform policy. *Bonus* is that of the shares r / sum(r), which
does not depend on the normalisation of r.

Axes: R runs, T updates that all of them have.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from action_balance.runs import learning_curve
from action_balance.studies import statistics
from action_balance.studies.atari.records import AtariRecord
from action_balance.studies.entropy.settings import GAME, VARIANTS
from action_balance.studies.statistics import Estimate

#: Metrics are 32-bit numbers: differences from `FLAT` below this are rounding errors.
RESOLUTION = 1e-6

Which = Literal["added", "bonus"]


@dataclass(frozen=True)
class Variant:
    """The runs of one variant."""

    name: str
    runs: tuple[AtariRecord, ...]

    @property
    def finished(self) -> tuple[AtariRecord, ...]:
        return tuple(run for run in self.runs if run.finished)

    @property
    def used(self) -> tuple[AtariRecord, ...]:
        """The runs behind the numbers: the finished ones, or all if none is."""
        return self.finished or self.runs

    @property
    def steps(self) -> np.ndarray:
        return min((run.steps for run in self.used), key=len)

    def values(self, which: Which) -> np.ndarray:
        return np.stack([getattr(run, f"entropy_{which}")[: len(self.steps)] for run in self.used])

    def finals(self, which: Which) -> np.ndarray:
        """Mean entropy of each run over the last tenth of the updates, (R,)."""
        return learning_curve.final_mean(self.values(which))

    def share_below(self, other: "Variant", which: Which) -> float:
        """Share of the updates that both have in which the mean over runs is below the other's."""
        common = min(len(self.steps), len(other.steps))
        ours, theirs = (one.values(which)[:, :common].mean(axis=0) for one in (self, other))
        return float((ours < theirs).mean())


def variants(records: Iterable[AtariRecord]) -> list[Variant]:
    """Group runs by variant, in the order of the paper; runs of other games and methods are left out."""
    found: dict[str, list[AtariRecord]] = {name: [] for name in VARIANTS}
    names = {settings: name for name, settings in VARIANTS.items()}
    for record in records:
        settings = record.config.agent.method, record.config.agent.normalize
        if record.game == GAME and settings in names:
            found[names[settings]].append(record)
    return [Variant(name, tuple(sorted(runs, key=lambda run: run.config.seed))) for name, runs in found.items() if runs]


def difference(ours: Variant, other: Variant, which: Which) -> Estimate:
    """Final entropy of one variant minus that of another."""
    return statistics.difference(ours.finals(which), other.finals(which))
