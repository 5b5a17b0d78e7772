"""Does the action bonus count? The learned error of every state-action pair beside the true count.

Axes: R seeds, S states, A actions.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.agent.context import AgentContext
from action_balance.agent.rollout import act, make_actor
from action_balance.agent.state import Actor, TrainState
from action_balance.config.train import TrainConfig
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.world import GridWorld
from action_balance.studies import statistics
from action_balance.studies.statistics import Estimate


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

    @property
    def rank_correlations(self) -> np.ndarray:
        """Spearman's correlation of error and minus count over the pairs of known states, of each seed, (R,)."""
        from scipy import stats

        pairs = zip(self.counts, self.errors, self.acted_from, strict=True)
        return np.array(
            [stats.spearmanr(-counts[known].ravel(), errors[known].ravel())[0] for counts, errors, known in pairs]
        )

    @property
    def within_states(self) -> np.ndarray:
        """The same among the actions of a state, mean over the states where counts and errors differ, (R,)."""
        from scipy import stats

        means = []
        for counts, errors in zip(self.counts, self.errors, strict=True):
            differ = (np.ptp(counts, axis=-1) > 0) & (np.ptp(errors, axis=-1) > 0)
            pairs = zip(counts[differ], errors[differ], strict=True)
            means.append(np.mean([stats.spearmanr(-count, error)[0] for count, error in pairs]))
        return np.array(means)

    @property
    def rank_correlation(self) -> Estimate:
        """Mean over seeds with Fisher's transformation, which keeps the interval below 1."""
        mean = statistics.mean(np.arctanh(np.clip(self.rank_correlations, -0.999999, 0.999999)))
        return mean.map(lambda part: float(np.tanh(part)))

    def least_tried(self, policy: np.ndarray) -> np.ndarray:
        """Probability of the least-tried action, mean over known states; ties are averaged."""
        least = self.counts == self.counts.min(axis=-1, keepdims=True)
        chosen = (policy * least).sum(axis=-1) / least.sum(axis=-1)
        return np.array([one[known].mean() for one, known in zip(chosen, self.acted_from, strict=True)])

    @property
    def lift(self) -> Estimate:
        """How much more likely the least-tried action is under beta than under pi, mean over seeds."""
        return statistics.mean(self.least_tried(self.beta) - self.least_tried(self.pi))


def study(config: TrainConfig, states: TrainState) -> Counting:
    """Evaluate the action bonus of trained agents on every pair of a grid world."""
    environment = config.environment(jax.random.key(0))
    assert isinstance(environment, GridEnvironment)
    context = AgentContext(config.agent, environment.spec)
    numbers = jnp.arange(environment.spec.states)

    def one_state(actor: Actor, number: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        logits, _, bonus, _ = act(actor, environment.observe(number), number, context)
        behaviour = context.behaviour_logits(logits, bonus, actor.coef)
        return bonus, jax.nn.softmax(logits), jax.nn.softmax(behaviour)

    def one_agent(state: TrainState) -> tuple[jax.Array, jax.Array, jax.Array]:
        actor = make_actor(state, context)
        return jax.vmap(lambda number: one_state(actor, number))(numbers)

    learned = jax.jit(lambda states: jax.lax.map(one_agent, states))(states)
    errors, pi, beta = (np.asarray(part, np.float64) for part in learned)
    return Counting(environment.world, np.asarray(states.visits), errors, pi, beta)
