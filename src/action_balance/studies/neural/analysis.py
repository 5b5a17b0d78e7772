"""The neural agent where rewards are rare: which states it sees, when it finds the treasure, whether it learns to.

Axes: R seeds, U updates, S states.
"""

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np

from action_balance.agent.state import TrainState
from action_balance.config.agent import METHODS, Config
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.loop import Trainer
from action_balance.envs.base import Environment
from action_balance.errors import UserError
from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.metrics import TIMING
from action_balance.studies import statistics
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.settings import check_names, check_seeds
from action_balance.studies.statistics import Estimate

#: What the study compares.
COMPARED = ("random", "ppo", "rnd", "action-balance", "action-balance-rnd")

#: The worlds: the paper's open grid; its corridor with rooms so large that the treasure is rarely found by chance; the
#: deep sea. The last is small: there, what was learned is set beside true counts.
WORLDS = {
    "open": env_config("open"),
    "corridor": env_config("corridor", size=25),
    "deep-sea": env_config("deep-sea", size=10),
    "counting": env_config("corridor", size=5),
}

#: A seed has solved its world if this is its mean return over the last tenth of the updates.
SOLVED = 0.5
LAST = 0.1


@dataclass(frozen=True)
class NeuralSettings:
    """Settings of ``reproduce neural``. What is not here is as in the preset ``study``, for every method and world."""

    seeds: int = 20
    """Agents of each method in each world."""
    seed: int = 0
    """Seed of the first agent; the same seed gives the same numbers on the same kind of CPU."""
    steps: int = 120_000
    """Environment steps of each agent."""
    methods: tuple[str, ...] = COMPARED
    """Which methods to compare."""
    studies: tuple[str, ...] = tuple(WORLDS)
    """Which studies to run: open, corridor, deep-sea, counting."""

    def __post_init__(self) -> None:
        check_seeds(self.seed, self.seeds)
        check_names("method", self.methods, METHODS)
        check_names("study", self.studies, WORLDS)
        for world in self.studies:
            self.runs(world)

    def runs(self, world: str) -> dict[str, TrainConfig]:
        """The training runs of a world, by method."""
        methods = ("action-balance-rnd",) if world == "counting" else self.methods
        return {method: self._run(world, method) for method in methods}

    def _run(self, world: str, method: str) -> TrainConfig:
        agent = Config(method=method, steps=self.steps)
        # A run takes about a minute, so that one checkpoint, at its end, is enough.
        return TrainConfig(WORLDS[world], agent, self.seed, self.seeds, checkpoint_every=agent.updates)


@dataclass(frozen=True)
class Trained:
    """The seeds of one method in one world."""

    steps: np.ndarray  # (U,), environment steps of each seed
    states: np.ndarray  # (R, U), distinct states reached so far
    returns: np.ndarray  # (R, U), mean return of the episodes that ended; nan where none did
    found: FirstReachSteps  # environment steps until the first reward
    visits: np.ndarray  # (S,), mean over seeds, how often each state was reached

    @property
    def scores(self) -> np.ndarray:
        """Mean return over the last tenth of the updates, (R,); 0 for a seed that ended no episode."""
        last = self.returns[:, -max(1, int(LAST * self.returns.shape[1])) :]
        known = np.isfinite(last)
        return np.where(known, last, 0).sum(axis=1) / np.maximum(known.sum(axis=1), 1)

    @property
    def solved(self) -> Estimate:
        """Share of the seeds that get the treasure more often than not in the end."""
        return statistics.share(self.scores > SOLVED)


@dataclass(frozen=True)
class World:
    """What all methods did in one world. Agents with the same seed begin alike: methods are compared seed by seed."""

    name: str
    environment: Environment
    reachable: int  # states that some episode can reach
    methods: dict[str, Trained]

    def more_states(self, ours: str, other: str) -> Estimate | None:
        """How many more states one method has reached in the end than another; None unless both are there."""
        if not {ours, other} <= self.methods.keys():
            return None
        return statistics.mean(self.methods[ours].states[:, -1] - self.methods[other].states[:, -1])

    def ratio(self, ours: str, other: str) -> Estimate | None:
        """Mean steps of another method until the first reward, over ours; at most all steps count for a seed."""
        if not {ours, other} <= self.methods.keys():
            return None
        return statistics.paired_ratio(self.methods[other].found.steps, self.methods[ours].found.steps)


def restore(path: Path, config: TrainConfig) -> TrainState:
    """The states of all seeds at the end of a run, leading axis R."""
    folder = RunFolder.open(path)
    restored = folder.checkpoints().restore(Trainer(config).shapes())
    if restored.update != config.agent.updates:
        raise UserError(f"the last checkpoint of {path} is lost: delete that folder, and the run is made anew")
    state: TrainState = restored.state
    return state


def training_seconds(path: Path, config: TrainConfig) -> float:
    """How long the updates of a run took, whenever they were made."""
    steps = config.seeds * config.agent.steps_per_update
    return sum(steps / row["steps_per_second"] for row in read_metrics(path, TIMING))


def read_run(path: Path, config: TrainConfig) -> Trained:
    """What a finished run says."""
    rows = read_metrics(path)
    shape = (config.agent.updates, config.seeds)
    if len(rows) != shape[0] * shape[1]:
        raise UserError(f"{path} has lost a part of its metrics: delete that folder, and the run is made anew")

    def column(name: str) -> np.ndarray:
        return np.array([row[name] for row in rows], float).reshape(shape).T

    first = column("first_reward")[:, -1]
    limit = config.agent.updates * config.agent.steps_per_update
    return Trained(
        steps=column("steps")[0],
        states=column("states"),
        returns=column("episode_return"),
        found=FirstReachSteps(np.where(first < 0, limit, first).astype(np.int64), first >= 0),
        visits=np.asarray(restore(path, config).state_visits).mean(axis=0),
    )


def read_world(name: str, paths: dict[str, Path], runs: dict[str, TrainConfig]) -> World:
    """What all methods of a world say, by method."""
    environment = next(iter(runs.values())).environment(jax.random.key(0))
    methods = {method: read_run(paths[method], config) for method, config in runs.items()}
    return World(name, environment, int(environment.reachable().sum()), methods)
