"""The neural agent where rewards are rare: states reached, steps to the treasure, and whether it learns to get it.

Axes: R seeds, U updates, S states.
"""

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from action_balance.agent.state import TrainState
from action_balance.config.train import TrainConfig
from action_balance.engines.device.trainer import DeviceTrainer
from action_balance.envs.base import Environment
from action_balance.errors import UserError
from action_balance.runs import Place, RunFolder, learning_curve, read_numbers
from action_balance.runs.rows import METRICS, TIMING
from action_balance.studies import statistics
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.statistics import Estimate

#: A seed has solved its world if its mean return over the last tenth of the updates exceeds this.
SOLVED = 0.5


@dataclass(frozen=True)
class Trained:
    """The seeds of one method in one world."""

    steps: np.ndarray  # (U,), environment steps of each seed
    states: np.ndarray  # (R, U), distinct states reached so far
    returns: np.ndarray  # (R, U), mean return of the episodes that ended; nan where none did
    found: FirstReachSteps  # environment steps until the first reward
    visits: np.ndarray  # (S,), how often each state was reached, mean over seeds

    @property
    def scores(self) -> np.ndarray:
        """Mean return over the last tenth of the updates, (R,); 0 for a seed that ended no episode."""
        return np.nan_to_num(learning_curve.final_mean(self.returns))

    @property
    def solved(self) -> Estimate:
        """Share of the seeds that have solved their world."""
        return statistics.share(self.scores > SOLVED)


@dataclass(frozen=True)
class World:
    """All methods in one world. Agents with the same seed start alike, so that methods are compared seed by seed."""

    name: str
    environment: Environment
    reachable: int  # states that some episode can reach
    methods: dict[str, Trained]

    def more_states(self, ours: str, other: str) -> Estimate | None:
        """How many more states one method reached in the end than another; None unless both are there."""
        if not {ours, other} <= self.methods.keys():
            return None
        return statistics.mean(self.methods[ours].states[:, -1] - self.methods[other].states[:, -1])

    def ratio(self, ours: str, other: str) -> Estimate | None:
        """Mean steps of another method until the first reward over those of ours; all steps count if there was none."""
        if not {ours, other} <= self.methods.keys():
            return None
        return statistics.paired_ratio(self.methods[other].found.steps, self.methods[ours].found.steps)


def restore(path: Path, config: TrainConfig) -> TrainState:
    """States of all seeds at the end of a run, leading axis R."""
    folder = RunFolder.open(path)
    restored = folder.checkpoints().restore(DeviceTrainer(config).state_shapes())
    if restored.update != config.agent.updates:
        raise UserError(f"the last checkpoint of {path} is missing: delete that folder to train the run again")
    state: TrainState = restored.state
    return state


def training_seconds(path: Path, config: TrainConfig) -> float:
    """Duration of all updates of a run."""
    steps = config.seeds * config.agent.steps_per_update
    rates, _ = read_numbers(path / TIMING, Place(), ["steps_per_second"])
    return float(np.sum(steps / rates))


def read_run(path: Path, config: TrainConfig) -> Trained:
    """Read a finished run."""
    names = ("steps", "states", "episode_return", "first_reward")
    rows, _ = read_numbers(path / METRICS, Place(), names)
    shape = (config.agent.updates, config.seeds)
    if len(rows) != shape[0] * shape[1]:
        raise UserError(f"{path} has lost part of its metrics: delete that folder to train the run again")
    steps, states, returns, reached = (column.reshape(shape).T for column in rows.T)
    first = reached[:, -1]
    limit = config.agent.updates * config.agent.steps_per_update
    return Trained(
        steps=steps[0],
        states=states,
        returns=returns,
        found=FirstReachSteps(np.where(first < 0, limit, first).astype(np.int64), first >= 0),
        visits=np.asarray(restore(path, config).state_visits).mean(axis=0),
    )


def read_world(name: str, paths: dict[str, Path], runs: dict[str, TrainConfig]) -> World:
    """Read the runs of a world, by method."""
    environment = next(iter(runs.values())).environment(jax.random.key(0))
    methods = {method: read_run(paths[method], config) for method, config in runs.items()}
    return World(name, environment, int(environment.reachable().sum()), methods)
