"""Episodic novelty times RND (Never Give Up, Badia et al., 2020, https://arxiv.org/abs/2002.06038).

Axes: T steps, N environments, M embeddings of a memory, D features, K nearest neighbours, P samples of a minibatch.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from action_balance.bonuses.base import Batch, Bonus, NoSettings
from action_balance.bonuses.episodic import scan_episodes
from action_balance.bonuses.inverse_dynamics import InverseDynamics
from action_balance.bonuses.rnd import RND
from action_balance.config.bonuses import NGUConfig
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd
from action_balance.core.sharding import each_environment, merge_axes

#: Added to the similarity (the pseudo-count constant c of the paper), so that novelty is finite.
SMALLEST_SIMILARITY = 0.001

#: Steps that the moving average of neighbours' distances remembers: it must follow features that are being learned.
HORIZON = 1_000


class EpisodicMemory(eqx.Module):
    """Embeddings of the episode under way, of one environment or, with a leading axis (N,), of all.

    The embeddings of an episode are numbered from 0, which is its first observation. Number i is in row i modulo M, so
    a new one replaces the oldest.
    """

    embeddings: Float[Array, "*N M D"]
    added: Int[Array, "*N"]  # embeddings of the episode so far; 0 at its beginning

    def cleared(self) -> "EpisodicMemory":
        """The memory without an episode. Its rows are overwritten before they are read."""
        return EpisodicMemory(self.embeddings, jnp.zeros_like(self.added))


def count_embeddings(added: Int[Array, ""], _: None) -> tuple[Int[Array, ""], tuple[Int[Array, ""], Bool[Array, ""]]]:
    """How the number of embeddings of an episode grows in one step: its first observation, then one per step."""
    known = jnp.maximum(added, 1)
    return known + 1, (known, added == 0)


def nearest_neighbours(
    memory: EpisodicMemory,
    before: Float[Array, "T D"],
    after: Float[Array, "T D"],
    known: Int[Array, " T"],
    began: Bool[Array, " T"],
    added: Int[Array, ""],
    count: int,
) -> tuple[EpisodicMemory, Float[Array, "T K"]]:
    """Squared distances of the states that one environment reached to their nearest neighbours in the episode.

    The episode has ``known`` embeddings before s_{t+1}, and ``added`` after the rollout; ``began`` is where s_t is its
    first observation. Where there are too few neighbours, the missing distances are infinite.

    All steps are computed at once, by a matrix product with everything that may be in the memory at any of them: step
    by step, reading the memory would take most of the time of an update.
    """
    rows = len(memory.embeddings)
    entries = jnp.concatenate([memory.embeddings, before, after])
    # Each entry has its number in its episode, and the number of the episode in the rollout. What is not an entry has
    # a negative number: rows never written, and observations that are not the first.
    newest = memory.added - 1
    numbers = jnp.concatenate([newest - (newest - jnp.arange(rows)) % rows, jnp.where(began, 0, -1), known])
    episode = jnp.cumsum(began)
    episodes = jnp.concatenate([jnp.zeros(rows, episode.dtype), episode, episode])

    def kept(episode: Array, size: Array) -> Array:
        """Which entries the memory of an episode has when it has ``size`` embeddings."""
        return (episodes == episode) & (numbers >= jnp.maximum(size - rows, 0)) & (numbers < size)

    # Relative to one of them: far from zero, the difference of large squares would be rounding errors.
    points, others = after - after[0], entries - after[0]
    with jax.default_matmul_precision("highest"):
        products = points @ others.T
    squares = (points**2).sum(axis=-1)[:, None] + (others**2).sum(axis=-1) - 2 * products
    distances = jnp.where(jax.vmap(kept)(episode, known), jnp.maximum(squares, 0.0), jnp.inf)
    nearest = -jax.lax.top_k(-distances, count)[0]
    places = jnp.where(kept(episode[-1], added), numbers % rows, rows)  # outside: dropped
    embeddings = memory.embeddings.at[places].set(entries, mode="drop")
    return EpisodicMemory(embeddings, added), nearest


def episodic_novelty(
    neighbours: Float[Array, " K"], mean_distance: Float[Array, ""] | float, config: NGUConfig
) -> Float[Array, ""]:
    """``1 / s``, or 0 where the similarity ``s = sqrt(sum_i kernel(d_i)) + c`` to K neighbours is above the maximum.

    ``kernel(d) = epsilon / (max(d / d_m - cluster_distance, 0) + epsilon)`` with squared distances d and their moving
    average d_m. With n < K neighbours, early in an episode, the sum over them is multiplied by K / n: otherwise the
    first steps of every episode would be the most novel, and ending an episode would pay.
    """
    exists = jnp.isfinite(neighbours)
    relative = jnp.where(exists, neighbours, 0.0) / jnp.maximum(mean_distance, 1e-8)
    kernel = config.kernel_epsilon / (jnp.maximum(relative - config.cluster_distance, 0.0) + config.kernel_epsilon)
    total = jnp.where(exists, kernel, 0.0).sum() * len(neighbours) / jnp.maximum(exists.sum(), 1)
    similarity = jnp.sqrt(total) + SMALLEST_SIMILARITY
    return jnp.where(similarity > config.max_similarity, 0.0, 1 / similarity)


def modulation(errors: Float[Array, "*b"], moments: RunningMeanStd, most: float) -> Float[Array, "*b"]:
    """``min(max(alpha, 1), L)`` with ``alpha = 1 + (error - mean) / std``: novelty of a state over all of training."""
    alpha = 1 + (errors - moments.mean) / jnp.sqrt(moments.variance + 1e-8)
    return jnp.where(moments.count > 0, jnp.clip(alpha, 1.0, most), 1.0)


class MeanDistance(eqx.Module):
    """Moving average d_m of the squared distances of neighbours: of all steps at first, then exponential."""

    mean: Float[Array, ""]
    steps: Int[Array, ""]

    def update(self, neighbours: Float[Array, "N K"]) -> "MeanDistance":
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
        return RND(self.spec, self.agent, NoSettings())

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[NGUParams, NGUState]:
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
        return replace(state, memory=state.memory.cleared())

    def reward(self, params: NGUParams, state: NGUState, rollout: Batch) -> tuple[Float[Array, "T N"], NGUState]:
        settings: NGUConfig = self.config
        errors, _ = self.rnd.reward(params.rnd, state.rnd, rollout)
        encoded = params.dynamics.encode(rollout)

        ended = rollout.transitions.ended
        added, (known, began) = scan_episodes(count_embeddings, jnp.zeros_like, state.memory.added, None, ended)
        compare = partial(nearest_neighbours, count=settings.neighbours)
        memory, neighbours = each_environment(compare, in_axes=(0, 1, 1, 1, 1, 0), out_axes=(0, 1))(
            state.memory, encoded.before, encoded.after, known, began, added
        )

        def follow(distance: MeanDistance, now: Array) -> tuple[MeanDistance, Array]:
            distance = distance.update(now)
            return distance, distance.mean

        distance, means = jax.lax.scan(follow, state.distance, neighbours)
        novelty = jax.vmap(jax.vmap(lambda near, mean: episodic_novelty(near, mean, settings), in_axes=(0, None)))(
            neighbours, means
        )
        new = replace(
            state,
            memory=memory,
            distance=distance,
            errors=state.errors.update(merge_axes(errors)),
            accuracy=params.dynamics.accuracy(encoded),
        )
        return novelty * modulation(errors, state.errors, settings.max_modulation), new

    def loss(self, params: NGUParams, state: NGUState, batch: Batch) -> Float[Array, " P"]:
        inverse = params.dynamics.losses(params.dynamics.encode(batch))
        return inverse + self.rnd.loss(params.rnd, state.rnd, batch)

    def metrics(self, params: Any, state: NGUState) -> dict[str, Float[Array, ""]]:
        rows = state.memory.embeddings.shape[1]
        return {
            "inverse_accuracy": state.accuracy,
            "ngu_distance": state.distance.mean,
            "ngu_memory": jnp.minimum(state.memory.added, rows).mean(),
        }
