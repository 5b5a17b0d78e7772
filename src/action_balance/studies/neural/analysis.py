"""The neural agent where rewards are rare: states reached, steps to the treasure, and whether it learns to get it.

Axes: R seeds, U updates, S states, A actions.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.rollout import act, make_actor
from action_balance.algorithms.state import Actor, TrainState
from action_balance.config.train import TrainConfig
from action_balance.engines.device.trainer import DeviceTrainer
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.world import GridWorld
from action_balance.errors import UserError
from action_balance.runs import RunFolder, learning_curve
from action_balance.studies import statistics
from action_balance.studies.counting import mean_correlation, rank_correlation
from action_balance.studies.records import Arrays, metric_columns, update_seconds
from action_balance.studies.statistics import Estimate
from action_balance.studies.worlds import SOLVED, SeekerRecord, WorldRecords


@dataclass(frozen=True)
class NeuralRecord(SeekerRecord):
    """The seeds of one method in one world."""

    returns: Float[np.ndarray, "R P"]  # mean return of the episodes that ended in each update; nan where none did
    seconds: float  # duration of all updates

    @classmethod
    def extract(cls, path: Path, config: TrainConfig) -> Arrays:
        names = ("steps", "states", "episode_return", "first_reward")
        steps, states, returns, reached = metric_columns(path, config, names).values()
        if steps.shape[1] != config.agent.updates:
            raise UserError(f"{path} has lost part of its metrics: delete that folder to train the run again")
        seconds = np.array(update_seconds(path, config).sum())
        arrays = {"steps": steps[0], "states": states, "returns": returns, "first_reward": reached[:, -1]}
        return {**arrays, "seconds": seconds}

    @property
    def scores(self) -> np.ndarray:
        """Mean return over the last tenth of the updates, (R,); 0 for a seed that ended no episode."""
        return np.nan_to_num(learning_curve.final_mean(self.returns))

    @property
    def solved(self) -> Estimate:
        """Share of the seeds that have solved their world."""
        return statistics.share(self.scores > SOLVED)

    @cached_property
    def agents(self) -> TrainState:
        """The agents in the end, with a leading axis for the seeds."""
        restored = RunFolder.open(self.path).checkpoints().restore(DeviceTrainer(self.config).state_shapes())
        if restored.update != self.config.agent.updates:
            raise UserError(f"the last checkpoint of {self.path} is missing: delete that folder to train the run again")
        state: TrainState = restored.state
        return state

    @cached_property
    def visits(self) -> np.ndarray:
        return np.asarray(self.agents.state_visits).mean(axis=0)


NeuralWorld = WorldRecords[NeuralRecord]


@dataclass(frozen=True)
class Counting:
    """What each agent has learned about each pair, and the true counts."""

    world: GridWorld
    counts: np.ndarray  # (R, S, A) int, N(s, a)
    errors: np.ndarray  # (R, S, A), r_ab(s, a)
    pi: np.ndarray  # (R, S, A), probabilities
    beta: np.ndarray  # (R, S, A)

    @property
    def acted_from(self) -> np.ndarray:
        """States that the agent has acted from, (R, S) bool."""
        acted: np.ndarray = self.counts.sum(axis=-1) > 0
        return acted

    @cached_property
    def rank_correlations(self) -> np.ndarray:
        """Spearman's correlation of error and minus count over the pairs of known states, of each seed, (R,)."""
        pairs = zip(self.counts, self.errors, self.acted_from, strict=True)
        return np.array(
            [rank_correlation(errors[known].ravel(), counts[known].ravel()) for counts, errors, known in pairs]
        )

    @property
    def within_states(self) -> np.ndarray:
        """The same among the actions of a state, mean over the states where counts and errors differ, (R,)."""
        differ = (np.ptp(self.counts, axis=-1) > 0) & (np.ptp(self.errors, axis=-1) > 0)
        return np.array(
            [
                np.mean(rank_correlation(errors[known], counts[known]))
                for counts, errors, known in zip(self.counts, self.errors, differ, strict=True)
            ]
        )

    @property
    def rank_correlation(self) -> Estimate:
        return mean_correlation(self.rank_correlations)

    def least_tried(self, policy: np.ndarray) -> np.ndarray:
        """Probability of the least-tried action, mean over known states; ties are averaged."""
        least = self.counts == self.counts.min(axis=-1, keepdims=True)
        chosen = (policy * least).sum(axis=-1) / least.sum(axis=-1)
        return np.array([one[known].mean() for one, known in zip(chosen, self.acted_from, strict=True)])

    @property
    def lift(self) -> Estimate:
        """How much more likely the least-tried action is under beta than under pi, mean over seeds."""
        return statistics.mean(self.least_tried(self.beta) - self.least_tried(self.pi))


def count_pairs(config: TrainConfig, states: TrainState) -> Counting:
    """Evaluate the action bonus of trained agents on every pair of a grid world."""
    environment = config.environment(jax.random.key(0))
    assert isinstance(environment, GridEnvironment)
    algorithm = make_algorithm(config.agent, environment.spec)
    numbers = jnp.arange(environment.spec.states)

    def one_state(actor: Actor, number: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        found, _, bonus, _ = act(actor, environment.observe(number), number, algorithm)
        behaviour = algorithm.behaviour_logits(found, bonus, actor.coef)
        return bonus, jax.nn.softmax(algorithm.policy(found, None)), jax.nn.softmax(behaviour)

    def one_agent(state: TrainState) -> tuple[jax.Array, jax.Array, jax.Array]:
        actor = make_actor(state, algorithm)
        return jax.vmap(lambda number: one_state(actor, number))(numbers)

    learned = jax.jit(lambda states: jax.lax.map(one_agent, states))(states)
    errors, pi, beta = (np.asarray(part, np.float64) for part in learned)
    return Counting(environment.world, np.asarray(states.visits), errors, pi, beta)
