"""How flat the action bonus is (the paper's Figure 7): raw, L2, and channel with L2, in Montezuma's Revenge.

Two entropies are told of a bonus vector r over k actions, both of them ln k where it is flat. *Added*: of
softmax(Normalize(r)), what the bonus would make of a uniform policy. *Shares*: of r / sum(r), which does not depend on
how r is normalised.

Axes: R runs, T updates that all of them have.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.core.balance import Normalization
from action_balance.studies import statistics
from action_balance.studies.atari.analysis import AtariTraining
from action_balance.studies.grid.settings import check_seeds
from action_balance.studies.records import Record, run_name
from action_balance.studies.statistics import Estimate

#: The game of the figure, and its actions.
GAME, ACTIONS = "montezuma_revenge", 18

#: The entropy of a flat vector.
FLAT = math.log(ACTIONS)

#: What the paper compares: names as in the figure, method and normalisation. The last two are also runs of the study
#: ``atari``, under the same names.
VARIANTS: dict[str, tuple[str, Normalization]] = {
    "raw": ("action-balance-rnd", "raw"),
    "L2": ("action-balance-rnd", "l2"),
    "channel + L2": ("action-balance-rnd-channel", "l2"),
}

#: Share of the updates, at the end, whose mean is the final entropy of a run.
LAST = 0.1

#: Metrics are 32-bit numbers: near `FLAT`, smaller differences than this are rounding.
RESOLUTION = 1e-6

Which = Literal["added", "bonus"]


@dataclass(frozen=True)
class EntropySettings:
    """Settings of ``reproduce entropy``."""

    seeds: int = 1
    """Runs of each variant. More can be asked for later: what is there is kept."""
    seed: int = 0
    """Seed of the first run; the others follow."""
    training: AtariTraining = field(default_factory=AtariTraining)

    def __post_init__(self) -> None:
        check_seeds(self.seed, self.seeds)

    def plan(self) -> dict[str, TrainConfig]:
        """The runs by name, in order: all variants with the first seed, then with the next."""
        runs = [
            self.training.run(GAME, method, seed, normalize)
            for seed in range(self.seed, self.seed + self.seeds)
            for method, normalize in VARIANTS.values()
        ]
        return {run_name(config): config for config in runs}


@dataclass(frozen=True)
class Variant:
    """The runs of one variant."""

    name: str
    runs: tuple[Record, ...]

    @property
    def finished(self) -> tuple[Record, ...]:
        """Those that made all their updates."""
        return tuple(run for run in self.runs if run.finished)

    @property
    def used(self) -> tuple[Record, ...]:
        """Those that the numbers are of: the finished ones, or all where none is."""
        return self.finished or self.runs

    @property
    def steps(self) -> np.ndarray:
        """Environment steps of each run, (T,)."""
        return min((run.steps for run in self.used), key=len)

    def values(self, which: Which) -> np.ndarray:
        """Entropy after each update, (R, T)."""
        return np.stack([getattr(run, f"entropy_{which}")[: len(self.steps)] for run in self.used])

    def finals(self, which: Which) -> np.ndarray:
        """Mean entropy of each run over the last tenth of the updates, (R,)."""
        return self.values(which)[:, -max(1, int(LAST * len(self.steps))) :].mean(axis=1)

    def share_below(self, other: "Variant", which: Which) -> float:
        """Share of the updates, of those that both have, in which the mean over runs is below another's."""
        common = min(len(self.steps), len(other.steps))
        ours, theirs = (one.values(which)[:, :common].mean(axis=0) for one in (self, other))
        return float((ours < theirs).mean())


def variants(records: Iterable[Record]) -> list[Variant]:
    """Runs by variant, in the order of the paper; runs of other games and methods are left out."""
    found: dict[str, list[Record]] = {name: [] for name in VARIANTS}
    names = {settings: name for name, settings in VARIANTS.items()}
    for record in records:
        settings = record.config.agent.method, record.config.agent.bonus.normalize
        if record.game == GAME and settings in names:
            found[names[settings]].append(record)
    return [Variant(name, _in_order(runs)) for name, runs in found.items() if runs]


def _in_order(runs: Sequence[Record]) -> tuple[Record, ...]:
    return tuple(sorted(runs, key=lambda run: run.config.seed))


def difference(ours: Variant, other: Variant, which: Which) -> Estimate:
    """Final entropy of one variant less that of another."""
    return statistics.difference(ours.finals(which), other.finals(which))
