"""The studies of the command ``reproduce``. Importing this loads no JAX."""

from dataclasses import dataclass
from typing import Any, Literal

from action_balance.studies.atari.settings import AtariSettings
from action_balance.studies.bonuses.settings import BonusesSettings
from action_balance.studies.entropy.settings import EntropySettings
from action_balance.studies.grid.settings import GridSettings
from action_balance.studies.neural.settings import NeuralSettings
from action_balance.studies.tuning.settings import TuningSettings

#: What a study consists of: computations without training; training runs; runs of which an incomplete study can be
#: reported; and runs that several processes can share.
Kind = Literal["computed", "trained", "reported", "shared"]


@dataclass(frozen=True)
class Entry:
    """A study: the folder of this package with its name, whose module ``reproduce`` defines it."""

    settings: type[Any]
    kind: Kind
    about: str


STUDIES = {
    "grid": Entry(
        GridSettings,
        "computed",
        "The paper's grid worlds: coverage, goals and the corridor. It takes less than 30 seconds on two cores.",
    ),
    "neural": Entry(
        NeuralSettings, "trained", "The neural agent in three small worlds. It takes about ten minutes on two cores."
    ),
    "bonuses": Entry(
        BonusesSettings,
        "shared",
        "Which bonus solves which world, with the settings of the tuning. It takes about 20 minutes on two cores, and "
        "hours with --scale full; several processes with --train-only can share the work.",
    ),
    "tuning": Entry(
        TuningSettings,
        "shared",
        "The settings of every method, searched in worlds that no study reports. It takes about six hours on two "
        "cores, with two processes, one of them with --train-only.",
    ),
    "atari": Entry(
        AtariSettings,
        "reported",
        "The paper's six Atari games. The study needs a GPU, takes days, and can be interrupted at any time.",
    ),
    "entropy": Entry(
        EntropySettings,
        "reported",
        "Entropy of the action bonus in Montezuma's Revenge. The study needs a GPU and takes days.",
    ),
}
