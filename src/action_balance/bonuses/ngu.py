"""Episodic novelty times RND (Never Give Up, Badia et al., 2020, https://arxiv.org/abs/2002.06038).

Axes: T steps, N environments, M embeddings of a memory, D features, K nearest neighbours, P samples of a minibatch.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from action_balance.bonuses.base import Batch, Bonus, NoSettings
from action_balance.bonuses.episodic import episode_ends, scan_episodes
from action_balance.bonuses.inverse_dynamics import InverseDynamics
from action_balance.bonuses.rnd import RND
from action_balance.config.bonuses import NGUConfig
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd

#: Added to the similarity (the pseudo-count constant c of the paper), so that novelty is finite.
SMALLEST_SIMILARITY = 0.001

#: Steps that the moving average of neighbours' distances remembers: it must follow features that are being learned.
HORIZON = 1_000


class EpisodicMemory(eqx.Module):
    """Embeddings of the episode under way, of one environment or, with a leading axis (N,), of all."""

    embeddings: Float[Array, "*N M D"]
    added: Int[Array, "*N"]  # embeddings of the episode so far; the newest M are kept

    def cleared(self) -> "EpisodicMemory":
        """The memory without an episode. Its rows are overwritten, and not read before."""
        return EpisodicMemory(self.embeddings, jnp.zeros_like(self.added))

    def add(self, embedding: Float[Array, " D"]) -> "EpisodicMemory":
        """Add an embedding in place of the oldest.

        Args:
            embedding: The embedding.

        Returns:
            The memory with it.
        """
        row = self.added % len(self.embeddings)
        return EpisodicMemory(self.embeddings.at[row].set(embedding), self.added + 1)

    def begin(self, embedding: Float[Array, " D"]) -> "EpisodicMemory":
        """Add an embedding if the memory is empty.

        Args:
            embedding: Embedding of an observation that is the first one of an episode if the memory is empty.

        Returns:
            The memory, with one embedding or more.
        """
        empty = self.added == 0
        first = jnp.where(empty, embedding, self.embeddings[0])
        return EpisodicMemory(self.embeddings.at[0].set(first), self.added + empty)

    def nearest(self, embedding: Float[Array, " D"], count: int) -> Float[Array, " K"]:
        """Squared distances of the nearest neighbours.

        Args:
            embedding: The embedding that they are neighbours of.
            count: K.

        Returns:
            The smallest distances, in ascending order; infinite where the memory has fewer embeddings.
        """
        distances = ((self.embeddings - embedding) ** 2).sum(axis=-1)
        known = jnp.arange(len(distances)) < self.added
        return -jax.lax.top_k(-jnp.where(known, distances, jnp.inf), count)[0]


def episodic_novelty(
    neighbours: Float[Array, " K"], mean_distance: Float[Array, ""] | float, config: NGUConfig
) -> Float[Array, ""]:
    """``1 / (sqrt(sum_i kernel(d_i)) + c)`` over the K nearest neighbours, or 0 where the root is above the maximum.

    ``kernel(d) = epsilon / (max(d / d_m - cluster_distance, 0) + epsilon)`` with squared distances d and their moving
    average d_m. With n < K neighbours, early in an episode, the sum over them is multiplied by K / n: otherwise the
    first steps of every episode would be the most novel, and ending an episode would pay.

    Args:
        neighbours: Squared distances; infinite for neighbours that do not exist. At least one exists.
        mean_distance: d_m.
        config: Settings of NGU.

    Returns:
        The episodic novelty.
    """
    exists = jnp.isfinite(neighbours)
    relative = jnp.where(exists, neighbours, 0.0) / jnp.maximum(mean_distance, 1e-8)
    kernel = config.kernel_epsilon / (jnp.maximum(relative - config.cluster_distance, 0.0) + config.kernel_epsilon)
    total = jnp.where(exists, kernel, 0.0).sum() * len(neighbours) / jnp.maximum(exists.sum(), 1)
    similarity = jnp.sqrt(total) + SMALLEST_SIMILARITY
    return jnp.where(similarity > config.max_similarity, 0.0, 1 / similarity)


def modulation(errors: Float[Array, "*b"], moments: RunningMeanStd, most: float) -> Float[Array, "*b"]:
    """``min(max(alpha, 1), L)`` with ``alpha = 1 + (error - mean) / std``: how novel a state is over all of training.

    Args:
        errors: Errors of RND.
        moments: Mean and variance of the errors before; without any, the factor is 1.
        most: L.

    Returns:
        The factors of the episodic novelty.
    """
    alpha = 1 + (errors - moments.mean) / jnp.sqrt(moments.variance + 1e-8)
    return jnp.where(moments.count > 0, jnp.clip(alpha, 1.0, most), 1.0)


class MeanDistance(eqx.Module):
    """Moving average d_m of the squared distances of neighbours: of all steps at first, then exponential."""

    mean: Float[Array, ""]
    steps: Int[Array, ""]

    def update(self, neighbours: Float[Array, "N K"]) -> "MeanDistance":
        """The average with the neighbours of one step of all environments.

        Args:
            neighbours: Their squared distances; infinite for neighbours that do not exist.

        Returns:
            The new average.
        """
        exists = jnp.isfinite(neighbours)
        mean = jnp.where(exists, neighbours, 0.0).sum() / jnp.maximum(exists.sum(), 1)
        steps = jnp.minimum(self.steps + 1, HORIZON)
        return MeanDistance(self.mean + (mean - self.mean) / steps, steps)


class NGUParams(eqx.Module):
    """What NGU trains."""

    dynamics: InverseDynamics
    rnd: Any  # RND's predictor


class NGUState(eqx.Module):
    """What NGU keeps."""

    rnd: Any  # RND's target
    memory: EpisodicMemory  # of all environments
    distance: MeanDistance
    errors: RunningMeanStd  # of RND
    accuracy: Float[Array, ""]  # of the inverse model in the newest rollout, for the metrics


@dataclass(frozen=True)
class NGU(Bonus):
    """The next-state bonus ``r_episodic(s') min(max(alpha(s'), 1), L)``.

    The first factor is the novelty within the episode, `episodic_novelty`: distances of inverse dynamics features to
    those of the episode's earlier observations, of which its first one is known from the start. The second is the
    novelty over all of training, `modulation` by RND.

    A memory is cleared after every end of an episode, and continues from rollout to rollout. Features of a rollout are
    those of the encoder before it was trained on the rollout; those of earlier rollouts stay as they were, as in NGU.

    The bonus belongs to the episode: ``--intrinsic-ends episode`` cuts the intrinsic return where the bonus restarts.
    """

    Config: ClassVar[type] = NGUConfig
    uses_obs_stats: ClassVar[bool] = True

    @property
    def rnd(self) -> RND:
        """The bonus over all of training."""
        return RND(self.spec, self.agent, NoSettings())

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[NGUParams, NGUState]:
        """Fresh networks, and no episode under way."""
        settings, envs = self.config, self.agent.envs
        predictor, target = self.rnd.init(named_key(key, "rnd"), stats)
        dynamics = InverseDynamics(self.spec, self.agent, settings.features, named_key(key, "dynamics"))
        embeddings = jnp.zeros((envs, settings.episodic_memory, settings.features))
        state = NGUState(
            rnd=target,
            memory=EpisodicMemory(embeddings, jnp.zeros(envs, jnp.int32)),
            distance=MeanDistance(jnp.zeros(()), jnp.zeros((), jnp.int32)),
            errors=RunningMeanStd.empty(),
            accuracy=jnp.zeros(()),
        )
        return NGUParams(dynamics, predictor), state

    def new_episodes(self, state: NGUState) -> NGUState:
        """All memories are empty."""
        return eqx.tree_at(lambda state: state.memory, state, state.memory.cleared())

    def reward(self, params: NGUParams, state: NGUState, rollout: Batch) -> tuple[Float[Array, "T N"], NGUState]:
        """The bonus of every state that was reached, and the memories after the rollout."""
        settings: NGUConfig = self.config
        errors, _ = self.rnd.reward(params.rnd, state.rnd, rollout)
        before, after = params.dynamics.features(rollout)

        def step(memory: EpisodicMemory, features: tuple[Array, Array]) -> tuple[EpisodicMemory, Array]:
            memory = memory.begin(features[0])
            return memory.add(features[1]), memory.nearest(features[1], settings.neighbours)

        ended = episode_ends(rollout.transitions)
        memory, neighbours = scan_episodes(step, EpisodicMemory.cleared, state.memory, (before, after), ended)

        def follow(distance: MeanDistance, now: Array) -> tuple[MeanDistance, Array]:
            distance = distance.update(now)
            return distance, distance.mean

        distance, means = jax.lax.scan(follow, state.distance, neighbours)
        novelty = jax.vmap(jax.vmap(lambda near, mean: episodic_novelty(near, mean, settings), in_axes=(0, None)))(
            neighbours, means
        )
        new = NGUState(
            rnd=state.rnd,
            memory=memory,
            distance=distance,
            errors=state.errors.update(errors.ravel()),
            accuracy=params.dynamics.accuracy(before, after, rollout),
        )
        return novelty * modulation(errors, state.errors, settings.max_modulation), new

    def loss(self, params: NGUParams, state: NGUState, batch: Batch) -> Float[Array, " P"]:
        """The inverse loss, which trains the features, plus the loss of RND."""
        inverse = params.dynamics.losses(*params.dynamics.features(batch), batch)
        return inverse + self.rnd.loss(params.rnd, state.rnd, batch)

    def metrics(self, params: Any, state: NGUState) -> dict[str, Float[Array, ""]]:
        """The accuracy of the inverse model, and the mean distance and number of embeddings in the memories."""
        del params
        rows = state.memory.embeddings.shape[1]
        return {
            "inverse_accuracy": state.accuracy,
            "ngu_distance": state.distance.mean,
            "ngu_memory": jnp.minimum(state.memory.added, rows).mean(),
        }
