"""What is kept of the agents of a cell, in one small file.

Axes: R agents, P points of the curves, C checkpoints, B bins of visits.
"""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.files import Data
from action_balance.studies.bonuses.settings import WORLDS, Setup
from action_balance.studies.cells import device_config, reading_record, record_paths, save_record

#: The kinds of visits that a bonus can be compared with, which are also prefixes of arrays: of states and of pairs.
STATES, PAIRS = "states", "pairs"


@dataclass(frozen=True)
class Comparison:
    """A bonus beside true counts at several checkpoints."""

    updates: np.ndarray  # (C,) int32
    rank: np.ndarray  # (R, C) float32, rank correlation of the bonus and minus the true count; nan where undefined
    within: np.ndarray  # (R, C) float32, the same among the actions of a state, mean over states; nan for states
    ratio: np.ndarray  # (R, C, B) float16, mean log2 of estimated over true count; nan where a bin is empty
    number: np.ndarray  # (R, C, B) int32, states or pairs in each bin: visits of 1, 2 to 3, 4 to 7, ...


@dataclass(frozen=True)
class Record:
    """The agents of a cell."""

    world: str
    setup: Setup
    config: TrainConfig
    made_by: Data  # versions and hardware
    seconds: float  # duration of all updates but the first, which is compiled
    first_reward: np.ndarray  # (R,) int32, environment steps until the first positive reward; -1 where there was none
    score: np.ndarray  # (R,) float32, mean return over the last tenth of the updates; 0 where no episode ended
    finite: np.ndarray  # (R,) bool, whether all parameters were finite numbers at the end
    steps: np.ndarray  # (P,) int32, environment steps of each agent
    states: np.ndarray  # (R, P) int32, states reached so far
    kl: np.ndarray  # (P,) float32, KL(beta || pi), mean over agents; empty without an action bonus
    coef: np.ndarray  # (P,) float32, c of Eq. 5, mean over agents; empty where it is constant
    comparisons: dict[str, Comparison] = field(default_factory=dict)  # by `STATES` or `PAIRS`

    @property
    def name(self) -> str:
        """As that of its cell."""
        return f"{self.world}--{self.setup.name}"

    @property
    def limit(self) -> int:
        """Environment steps of the whole training."""
        return self.config.agent.updates * self.config.agent.steps_per_update

    @property
    def found(self) -> np.ndarray:
        """Whether each agent ever got a reward, (R,) bool."""
        found: np.ndarray = self.first_reward >= 0
        return found

    @property
    def found_steps(self) -> np.ndarray:
        """Environment steps until the first reward, (R,); all steps where there was none."""
        return np.where(self.found, self.first_reward, self.limit)

    def save(self, path: Path) -> None:
        """Write it, whole or not at all."""
        about = {
            **{"world": self.world, "setup": self.setup.name, "config": self.config.to_dict()},
            **{"made_by": self.made_by, "seconds": round(self.seconds, 3)},
        }
        arrays = {name: getattr(self, name) for name in ARRAYS}
        for kind, compared in self.comparisons.items():
            arrays |= {f"{kind}_{name}": getattr(compared, name) for name in COMPARED}
        save_record(path, about, arrays)

    @classmethod
    def load(cls, path: Path) -> "Record":
        """Read one; a `UserError` if the file is something else."""
        with reading_record(path) as (about, arrays):
            comparisons = {
                kind: Comparison(**{name: arrays[f"{kind}_{name}"] for name in COMPARED})
                for kind in (STATES, PAIRS)
                if f"{kind}_{COMPARED[0]}" in arrays
            }
            found = cls(
                world=about["world"],
                setup=Setup.of(about["setup"]),
                config=device_config(about),
                made_by=dict(about["made_by"]),
                seconds=float(about["seconds"]),
                **{name: arrays[name] for name in ARRAYS},
                comparisons=comparisons,
            )
            found._check()
        return found

    def _check(self) -> None:
        """Raise a ``ValueError`` if the arrays do not belong together."""
        agents, points = len(self.first_reward), len(self.steps)
        shapes = {"first_reward": (agents,), "score": (agents,), "finite": (agents,), "steps": (points,)}
        fine = self.world in WORLDS and agents > 0 and points > 0 and self.states.shape == (agents, points)
        fine = fine and all(getattr(self, name).shape == shape for name, shape in shapes.items())
        fine = fine and all(one.shape in ((points,), (0,)) for one in (self.kl, self.coef))
        for one in self.comparisons.values():
            moments = agents, len(one.updates)
            fine = fine and one.updates.ndim == 1 and one.rank.shape == one.within.shape == moments
            fine = fine and one.ratio.ndim == 3 and one.ratio.shape[:2] == moments
            fine = fine and one.number.shape == one.ratio.shape
        arrays = [getattr(self, name) for name in ARRAYS]
        arrays += [getattr(one, name) for one in self.comparisons.values() for name in COMPARED]
        if not fine or any(array.dtype.kind not in "biuf" for array in arrays):
            raise ValueError("arrays that do not belong together")


#: The arrays of a record and of a comparison, by name.
ARRAYS = ("first_reward", "score", "finite", "steps", "states", "kl", "coef")
COMPARED = ("updates", "rank", "within", "ratio", "number")


def read_records(out: Path) -> list[Record]:
    """All records of a study, in the order of its tables."""
    known = list(WORLDS)
    return sorted(map(Record.load, record_paths(out)), key=lambda one: (known.index(one.world), one.setup.order))
