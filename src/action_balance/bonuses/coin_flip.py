"""The coin-flip network (Lobel et al., 2023, https://arxiv.org/abs/2306.03186) with a memory of past visits.

Every visit draws D fair coins ``c`` in {-1, +1}, which stay with it, and a network f regresses them with squared loss.
At a state with N visits the best f is the mean of N coin vectors, and ``E ||f||^2 / D = 1 / N``: the length of the
output counts. Three things make it count from 0 to many:

- f is the sum of a trained network, which begins at zero, and a fixed random prior g whose outputs have the length
  ``sqrt(D)``. The prior counts as one more visit, so the estimate is ``1 / (1 + N)``, and 1 where nothing was seen.
- All training samples are drawn from a memory of past visits, which is a weighted sample of all visits so far
  (`Memory`): what is not visited any more is not forgotten.
- Of a state with many visits, the memory keeps few. One that was kept with probability p stands for 1 / p visits: its
  coins are multiplied by ``sqrt(p)``, the spread of the mean of that many coins. So counts do not saturate at the
  number of visits in the memory, and there is less noise to learn from.

Axes: T steps, N environments, P samples of a minibatch, A choices of all action components, H heads of the network,
D coins of a visit, M visits of the memory.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Real

from action_balance.bonuses.base import Batch, Bonus, BonusObs
from action_balance.bonuses.counter import PairCounter
from action_balance.bonuses.memory import Memory
from action_balance.bonuses.networks import bonus_network
from action_balance.config.bonuses import CoinFlipConfig
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd
from action_balance.core.sharding import shard

#: Factor of the trained network's outputs. The learning rate is that of the policy, and steps of Adam do not depend on
#: the size of gradients: with this factor, outputs move that many times faster, so that estimates follow the counts.
SPEED = 8.0

#: Smallest estimate of 1 / (1 + N), and so the smallest weight of a visit: that of the most common one.
LEAST_WEIGHT = 1e-6


def inverse_count(outputs: Float[Array, "*b D"]) -> Float[Array, "*b"]:
    """The estimate ``||f||^2 / D`` of ``1 / (1 + N)``, within its limits."""
    return jnp.clip((outputs**2).mean(axis=-1), LEAST_WEIGHT, 1.0)


class CoinFlipState(eqx.Module):
    """What is not trained."""

    prior: Any  # fixed random network
    stats: RunningMeanStd  # of the observations of a random agent; they stay, so that the inputs of a state do
    memory: Memory | None  # of past visits; None where the agent only acts


class Visit(eqx.Module):
    """What was visited, with its coins; of several visits with a leading axis."""

    frame: Real[Array, "..."]
    action: Int[Array, "..."] | None  # of a pair
    coins: Int[Array, "*b D"]


@dataclass(frozen=True)
class CoinFlips(Bonus):
    """What counting states and counting pairs share: a network with one head of D outputs per thing to be counted."""

    Config: ClassVar[type] = CoinFlipConfig
    uses_obs_stats: ClassVar[bool] = True
    #: Whether pairs are counted, rather than states.
    pairs: ClassVar[bool]

    @property
    def heads(self) -> int:
        """H: one per action, or one for the state."""
        return self.distribution.choices if self.pairs else 1

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[Any, CoinFlipState]:
        """A network whose outputs are zero, its prior, and an empty memory."""
        network = partial(
            bonus_network, self.spec, self.agent, outputs=self.heads * self.config.coins, action_bonus=self.pairs
        )
        trained = network(predictor=True, key=named_key(key, "trained"))
        prior = network(predictor=False, key=named_key(key, "prior"))
        trained = eqx.tree_at(lambda net: net.joined[-1].weight, trained, replace_fn=jnp.zeros_like)
        visit = Visit(
            jnp.zeros(self.spec.frame_shape, self.spec.dtype),
            jnp.zeros(self.distribution.action_shape, jnp.int32) if self.pairs else None,
            jnp.zeros(self.config.coins, jnp.int8),
        )
        memory = Memory.empty(self.config.coin_memory, visit, -self.config.coin_kept)
        return trained, CoinFlipState(prior, stats, memory)

    def acting_state(self, state: CoinFlipState) -> CoinFlipState:
        """The state without its memory."""
        return replace(state, memory=None)

    def outputs(
        self, params: Any, state: CoinFlipState, frame: Real[Array, "..."], clip: float
    ) -> tuple[Float[Array, "H D"], Float[Array, "H D"]]:
        """f and the prior g of every head."""
        seen = state.stats.normalize(frame, clip)
        trained = params(seen).reshape(self.heads, -1)
        prior = jax.lax.stop_gradient(state.prior(seen)).reshape(trained.shape)
        prior = prior * jax.lax.rsqrt((prior**2).mean(axis=-1, keepdims=True) + 1e-12)
        return SPEED * trained + prior, prior

    def rareness(self, params: Any, state: CoinFlipState, frame: Real[Array, "..."], clip: float) -> Float[Array, " H"]:
        """The estimate of ``1 / (1 + N)`` of every head, `inverse_count`."""
        found, _ = self.outputs(params, state, frame, clip)
        return inverse_count(found)

    def reward(self, params: Any, state: CoinFlipState, rollout: Batch) -> tuple[Float[Array, "T N"], CoinFlipState]:
        """The estimate of ``1 / sqrt(1 + N)`` of every visit, and the memory with the rollout and its coins.

        The estimates of the components of an action are summed; its weight in the memory is that of the rarest one.
        """

        def one(obs: BonusObs, action: Array, next_obs: BonusObs) -> tuple[Array, Array]:
            visited = obs if self.pairs else next_obs
            rareness = self._taken(action) * self.rareness(params, state, visited.frame, visited.clip)
            return jnp.sqrt(rareness).sum(), rareness.max()

        bonus, rarest = rollout.each(one)
        transitions = rollout.transitions
        frames = transitions.frame if self.pairs else transitions.next_frame
        coins = jax.random.rademacher(named_key(rollout.key, "coins"), (rarest.size, self.config.coins), jnp.int8)
        visits = Visit(
            frames.reshape(rarest.size, *self.spec.frame_shape),
            transitions.action.reshape(rarest.size, *self.distribution.action_shape) if self.pairs else None,
            coins,
        )
        assert state.memory is not None
        memory = self._refreshed(params, state, state.memory, rollout.clip, min(rarest.size, self.config.coin_memory))
        memory = memory.insert(named_key(rollout.key, "memory"), visits, rarest.ravel())
        return bonus, replace(state, memory=memory)

    def _refreshed(self, params: Any, state: CoinFlipState, memory: Memory, clip: float, count: int) -> Memory:
        """The memory with the rareness of now as the weight of some of its visits, in turn: most have become common."""

        def one(visit: Visit) -> Array:
            return (self._taken(visit.action) * self.rareness(params, state, visit.frame, clip)).max()

        oldest = shard(jax.tree.map(lambda leaf: leaf[memory.oldest(count)], memory.visits))
        return memory.lower(jax.vmap(one)(oldest))

    def loss(self, params: Any, state: CoinFlipState, batch: Batch) -> Float[Array, " P"]:
        """``||f - c||^2 / D`` of visits that are drawn from the memory.

        The prior takes part as one more visit, and samples are weighted so that every state counts about the same: the
        weight in the memory is the rareness at the time of the visit, the weight here relates it to that of now.
        """
        assert state.memory is not None

        def one(visit: Visit, weight: Array, kept: Array) -> Array:
            found, prior = self.outputs(params, state, visit.frame, batch.clip)
            rareness = jax.lax.stop_gradient(inverse_count(found))
            share = jnp.minimum(rareness, 0.5)[:, None]  # of the prior among 1 + N visits, of which there is one
            target = (1 - share) * jnp.sqrt(kept) * visit.coins + share * prior
            errors = ((found - target) ** 2).mean(axis=-1)
            return (self._taken(visit.action) * jnp.minimum(rareness / weight, 1.0) * errors).sum()

        drawn = shard(state.memory.draw(batch.key, len(batch.transitions.index)))
        errors: Array = jax.vmap(one)(*drawn)
        return errors

    def metrics(self, params: Any, state: CoinFlipState) -> dict[str, Float[Array, ""]]:
        assert state.memory is not None
        return {"action_coin_flip_memory" if self.pairs else "coin_flip_memory": state.memory.filled}

    def _taken(self, action: Array | None) -> Array:
        """Which heads a visit belongs to, (H,), 0 or 1."""
        return self.distribution.vector(action) if self.pairs and action is not None else jnp.ones(1)


@dataclass(frozen=True)
class CoinFlipStates(CoinFlips):
    """The next-state bonus ``r(s') = ||f(s')|| / sqrt(D)``, an estimate of ``1 / sqrt(1 + N(s'))``."""

    pairs: ClassVar[bool] = False
    rewards_states: ClassVar[bool] = True


@dataclass(frozen=True)
class CoinFlipPairs(PairCounter, CoinFlips):
    """The action bonus ``||f_a(s)|| / sqrt(D)`` of all actions of a state, an estimate of ``1 / sqrt(1 + N(s, a))``.

    The network has one head per action, so all actions of a state need one pass; only the head of the action taken
    learns from a visit. Of an action with several components, every choice of every component has a head.
    """

    pairs: ClassVar[bool] = True

    def counts(self, params: Any, state: CoinFlipState, obs: BonusObs) -> Float[Array, " A"]:
        """Estimated visits of every pair: ``D / ||f_a(s)||^2 - 1``, at least 0."""
        return 1 / self.rareness(params, state, obs.frame, obs.clip) - 1
