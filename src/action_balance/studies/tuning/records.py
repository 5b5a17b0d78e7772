"""What is kept of the agents of a trial in one world. Axes: R agents, P points, here the end alone."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from action_balance.config.train import TrainConfig
from action_balance.studies.records import Arrays, RunRecord, metric_columns, typical_seconds
from action_balance.studies.solving import area, restricted, solved_at
from action_balance.studies.tuning.settings import METHODS, WORLDS


@dataclass(frozen=True)
class TrialRecord(RunRecord):
    """The agents of a trial in one world."""

    solved_at: Int[np.ndarray, " R"]  # environment steps; -1 where an agent has not solved the world
    area: Float[np.ndarray, " R"]  # under the learning curve
    seconds: float

    @property
    def world(self) -> str:
        return self.name.split("--")[0]

    @property
    def method(self) -> str:
        return self.name.split("--")[1]

    @property
    def trial(self) -> int:
        return int(self.name.split("--")[2])

    @property
    def time(self) -> float:
        """Mean steps to solve the world, as a share of all steps; those that never do count with all of them."""
        return float(restricted(self.solved_at, self.limit).mean() / self.limit)

    @classmethod
    def extract(cls, path: Path, config: TrainConfig) -> Arrays:
        columns = metric_columns(path, config, ("episodes", "episode_return"))
        episodes, returns = columns["episodes"], columns["episode_return"]
        steps = config.agent.steps_at(np.arange(1, config.agent.updates + 1))
        threshold = WORLDS[path.name.split("--")[0]].threshold
        assert threshold is not None
        return {
            "steps": steps[-1:],
            "solved_at": solved_at(episodes, returns, steps, threshold),
            "area": area(episodes, returns).astype(np.float32),
            "seconds": typical_seconds(path, config),
        }


def belongs(name: str, config: TrainConfig) -> bool:
    """Whether a run with this name is a trial."""
    world, _, rest = name.partition("--")
    method, _, trial = rest.partition("--")
    return world in WORLDS and method in METHODS and trial.isdecimal() and config.env.engine == "device"
