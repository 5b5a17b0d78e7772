"""Settings of the entropy study."""

import math
from dataclasses import dataclass, field

from action_balance.config.train import TrainConfig
from action_balance.core.options import Normalization
from action_balance.studies.atari.training import AtariTraining, run_name
from action_balance.studies.checks import MAX_SEEDS, check_seeds

#: The game of the figure, and its number of actions.
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


@dataclass(frozen=True)
class EntropySettings:
    """Settings of ``reproduce entropy``."""

    seeds: int = 1
    """Runs per variant, at most 10,000. Increase it later to add runs to a result."""
    seed: int = 0
    """Random seed of the first run; the others use the seeds that follow."""
    training: AtariTraining = field(default_factory=AtariTraining)

    def __post_init__(self) -> None:
        check_seeds(self.seed, self.seeds, MAX_SEEDS)

    def plan(self) -> dict[str, TrainConfig]:
        runs = [
            self.training.run(GAME, method, seed, normalize)
            for seed in range(self.seed, self.seed + self.seeds)
            for method, normalize in VARIANTS.values()
        ]
        return {run_name(config): config for config in runs}
