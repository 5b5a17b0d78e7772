"""Agents in worlds whose states can be enumerated: what the studies `neural` and `bonuses` share. Axis: R agents."""

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import jax
import numpy as np
from jaxtyping import Bool, Int, Shaped

from action_balance.envs.base import Environment
from action_balance.studies import statistics
from action_balance.studies.records import RunRecord
from action_balance.studies.statistics import Estimate

#: An agent has solved its world if its mean return over the last tenth of the updates exceeds this.
SOLVED = 0.5


@dataclass(frozen=True)
class SeekerRecord(RunRecord):
    """The agents with one method in one world."""

    states: Shaped[np.ndarray, "R P"]  # distinct states reached so far
    first_reward: Shaped[np.ndarray, " R"]  # environment steps until the first positive reward; -1 without any

    @property
    def found(self) -> Bool[np.ndarray, " R"]:
        """Whether each agent ever got a reward."""
        found: np.ndarray = self.first_reward >= 0
        return found

    @property
    def found_steps(self) -> Int[np.ndarray, " R"]:
        """Environment steps until the first reward; all steps where there was none."""
        return np.where(self.found, self.first_reward, self.limit).astype(np.int64)

    @property
    def median_steps(self) -> float | None:
        """The median of all agents; None if half of them never got a reward."""
        median = float(np.median(np.where(self.found, self.found_steps, np.inf)))
        return median if np.isfinite(median) else None


Seekers = TypeVar("Seekers", bound=SeekerRecord)


@dataclass(frozen=True)
class WorldRecords(Generic[Seekers]):
    """All agents in one world. Those with the same seed start alike, so that they are compared seed by seed."""

    name: str
    records: dict[str, Seekers]  # by method

    @property
    def any(self) -> Seekers:
        return next(iter(self.records.values()))

    @cached_property
    def environment(self) -> Environment:
        return self.any.config.environment(jax.random.key(0))

    @cached_property
    def reachable(self) -> int:
        return int(self.environment.reachable().sum())

    def sooner(self, ours: str, other: str) -> Estimate | None:
        """Mean steps of others until the first reward over those of ours; None unless both are there."""
        if not {ours, other} <= self.records.keys():
            return None
        return statistics.paired_ratio(self.records[other].found_steps, self.records[ours].found_steps)

    def more_states(self, ours: str, other: str, comparisons: int = 1) -> Estimate | None:
        """How many more states agents reached in the end than others; None unless both are there."""
        if not {ours, other} <= self.records.keys():
            return None
        more = self.records[ours].states[:, -1] - self.records[other].states[:, -1]
        return statistics.mean(more.astype(float), comparisons)
