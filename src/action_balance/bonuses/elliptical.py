"""Elliptical counts over all of training: visits counted by direction, of states and of state-action pairs.

An observation becomes features phi(s) of unit length, and all visits so far make a matrix C:

    b(s) = (ridge phi(s)' C^-1 phi(s))^exponent        C = ridge I + sum_i phi(s_i) phi(s_i)'

The width ``phi' C^-1 phi`` generalises counts. Where the features of different states are orthogonal, it is
``1 / (ridge + N(s))``, so that the default bonus is ``1 / sqrt(1 + N(s))``. States that share directions share visits.
Noise adds the same directions to every observation, which do not make it new for long.

For pairs, every action has a matrix C_a of the states in which it was taken; continuous actions are features like
states. The square root of ``phi' C_a^-1 phi`` is the confidence width of LinUCB (Li et al., 2010,
https://arxiv.org/abs/1003.0146) and, as the bonus of a value function, of LSVI-UCB (Jin et al., 2020,
https://arxiv.org/abs/1907.05388). E3B (Henaff et al., 2022, https://arxiv.org/abs/2210.05805) is the width within an
episode; ACB (Ash et al., 2022, https://arxiv.org/abs/2110.11202) approximates it by the spread of an ensemble of linear
models.

Axes: T steps, N environments, A choices of all action components, K actions, V numbers of an action as a vector, B
visits, D features.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Real

from action_balance.bonuses.base import Batch, Bonus, BonusObs
from action_balance.bonuses.counter import PairCounter
from action_balance.bonuses.networks import bonus_network
from action_balance.config.bonuses import EllipticalConfig
from action_balance.core import elliptical
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd
from action_balance.errors import UserError, as_size

#: Vectors of fewer numbers have too few directions of their own, and have Fourier features; the numbers of vectors
#: that are larger, and of images and symbols, are too many to be features.
FEW, MANY = 8, 512
#: Numbers of the observations that the default bandwidth of Fourier features is for.
TYPICAL = 2

#: The most features cubed, summed over the matrices of a seed: twenty times 4,096 cubed, half a minute on two cores.
MOST = 20 * 4096**3


class RandomFourierFeatures(eqx.Module):
    """Random Fourier features ``cos(W x + b)`` (Rahimi and Recht, 2007,
    https://papers.nips.cc/paper/3182-random-features-for-large-scale-kernel-machines): the product of those of two
    observations falls with their distance, as ``exp(-(bandwidth ||x - y||)^2 / 2)`` on average."""

    directions: Float[Array, "D n"]
    phases: Float[Array, " D"]

    def __init__(self, numbers: int, features: int, bandwidth: float, key: PRNGKeyArray) -> None:
        self.directions = bandwidth * jax.random.normal(named_key(key, "directions"), (features, numbers))
        self.phases = jax.random.uniform(named_key(key, "phases"), (features,), maxval=2 * jnp.pi)

    def __call__(self, observation: Float[Array, "..."]) -> Float[Array, " D"]:
        return jnp.cos(jnp.matmul(self.directions, observation.ravel(), precision="highest") + self.phases)


class WithConstant(eqx.Module):
    """The numbers of an observation and a 1, so that opposite observations have different directions."""

    def __call__(self, observation: Float[Array, "..."]) -> Float[Array, " D"]:
        return jnp.append(observation.ravel(), 1.0)


class PairFeatures(eqx.Module):
    """Features of an observation together with a continuous action, which would not differ in the observation's own.

    Numbers of both are scaled, so that the distance of two observations, or of two actions, does not grow with how many
    numbers they have: as if observations had `TYPICAL` numbers, and actions one.
    """

    encoder: Any  # the random network of large observations; None for the numbers of the observation
    joint: Any  # features of the numbers of both

    def __call__(self, observation: Float[Array, "..."], action: Float[Array, " V"]) -> Float[Array, " D"]:
        if self.encoder is None:
            seen = observation.ravel() * min(1.0, math.sqrt(TYPICAL / observation.size))
        else:
            seen = _unit(self.encoder(observation))
        return self.joint(jnp.concatenate([seen, action / math.sqrt(action.size)]))


class EllipticalState(eqx.Module):
    """What is counted, and how observations become features; only the roots change."""

    roots: Float[Array, "D columns"]  # of C^-1; for pairs, those of all actions beside each other, in one product
    stats: RunningMeanStd  # of the observations of the warm-up; they stay, so that the features of a state do
    network: Any


@dataclass(frozen=True)
class Elliptical(Bonus):
    """What counting states and counting pairs share."""

    Config: ClassVar[type] = EllipticalConfig
    uses_obs_stats: ClassVar[bool] = True
    #: Whether pairs are counted, rather than states.
    pairs: ClassVar[bool] = False

    @property
    def numbers(self) -> int:
        """Numbers of an observation, symbols one-hot."""
        return math.prod(self.spec.stats_shape)

    @property
    def joint(self) -> bool:
        """Whether the features are those of a state and an action together, because actions cannot be listed."""
        return self.pairs and not self.spec.lists_actions

    @property
    def kind(self) -> str:
        """What the features are: as set, or what suits the observation."""
        if self.config.features != "auto":
            return str(self.config.features)
        if not self.spec.kind.startswith("vector") or self.numbers > MANY:
            return "network"
        few = self.joint or self.numbers < FEW
        return "fourier" if few and not self.spec.discrete else "observation"

    @property
    def features(self) -> int:
        """D."""
        inputs = self.numbers + (self.distribution.size if self.joint else 0)
        return inputs + 1 if self.kind == "observation" else self.config.dimensions

    @property
    def matrices(self) -> int:
        """How many matrices there are: one, or one per action."""
        return 1

    def check(self) -> None:
        if self.features**3 * self.matrices > MOST:
            size, of = as_size(4 * self.features**2 * self.matrices), " and every action" if self.matrices > 1 else ""
            change = "--elliptical-features network" if self.kind == "observation" else "fewer --dimensions"
            raise UserError(
                f"elliptical counts over {self.features:,} features{of} need {size} and more than half a minute of "
                f"every update for each seed: use {change}"
            )

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[None, EllipticalState]:
        roots = jnp.tile(elliptical.empty_root(self.features, self.config.ridge), self.matrices)
        return None, EllipticalState(roots, stats, self._network(named_key(key, "features")))

    def _network(self, key: PRNGKeyArray) -> Any:
        numbers, encoder = self.numbers, None
        if self.kind == "network":
            sizes: dict[str, Any] = {"outputs": self.features, "action_bonus": self.pairs}
            encoder, numbers = bonus_network(self.spec, self.agent, predictor=False, key=key, **sizes), self.features
            if not self.joint:
                return encoder
        numbers += self.distribution.size if self.joint else 0
        if self.kind == "observation":
            made: Any = WithConstant()
        else:
            made = RandomFourierFeatures(numbers, self.features, self.config.bandwidth, key)
        return PairFeatures(encoder, made) if self.joint else made

    def phi(self, state: EllipticalState, frame: Real[Array, "..."], *action: Float[Array, " V"]) -> Float[Array, " D"]:
        """The features of an observation, or of it and an action, of unit length."""
        seen = state.stats.normalize(frame, self.agent.exploration.observation_clip)
        return jax.lax.stop_gradient(_unit(state.network(seen, *action)))

    def count(self, state: EllipticalState, features: Float[Array, "T N D"]) -> tuple[Float[Array, "T N"], Any]:
        """The bonus of visits, and the state with them in its first matrix."""
        widths, inner = elliptical.widths(state.roots, features.reshape(-1, self.features))
        roots = elliptical.add_visits(state.roots, inner)
        return self.bonus(widths).reshape(features.shape[:-1]), EllipticalState(roots, state.stats, state.network)

    def bonus(self, widths: Float[Array, "*b"]) -> Float[Array, "*b"]:
        """``(ridge phi' C^-1 phi)^exponent``: 1 where nothing was seen."""
        return jnp.minimum(self.config.ridge * widths, 1.0) ** self.config.exponent

    def metrics(self, params: Any, state: EllipticalState) -> dict[str, Float[Array, ""]]:
        """How many directions have been seen: the sum of ``N / (ridge + N)`` over them, on average over actions."""
        unseen = self.config.ridge * (state.roots**2).sum() / self.matrices
        return {f"{'action_' * self.pairs}elliptical_directions": self.features - unseen}


@dataclass(frozen=True)
class EllipticalStates(Elliptical):
    """The next-state bonus ``r(s') = (ridge phi(s')' C^-1 phi(s'))^exponent``, with C from before the rollout."""

    rewards_states: ClassVar[bool] = True

    def reward(self, params: Any, state: EllipticalState, rollout: Batch) -> tuple[Float[Array, "T N"], Any]:
        return self.count(state, rollout.each(lambda _, __, next_obs: self.phi(state, next_obs.frame)))


@dataclass(frozen=True)
class EllipticalPairs(Elliptical, PairCounter):
    """The action bonus ``r_ab(s, a) = (ridge phi(s)' C_a^-1 phi(s))^exponent``, with C_a from before the rollout.

    Of an action with several components, every choice of every component has a matrix of its own. Where actions are
    continuous, there is one matrix of all pairs, and phi is that of the state and the action (`PairFeatures`).
    """

    pairs: ClassVar[bool] = True

    @property
    def matrices(self) -> int:
        return 1 if self.joint else self.distribution.choices

    def widths(self, state: EllipticalState, frame: Real[Array, "..."]) -> Float[Array, " A"]:
        """``phi(s)' C_a^-1 phi(s)`` of all actions."""
        inner = jnp.matmul(self.phi(state, frame), state.roots, precision="highest")
        return (inner.reshape(self.matrices, -1) ** 2).sum(axis=-1)

    def counts(self, params: Any, state: EllipticalState, obs: BonusObs) -> Float[Array, " A"]:
        """Visits of every pair as the widths count them, ``1 / width - ridge``."""
        return jnp.maximum(1 / self.widths(state, obs.frame) - self.config.ridge, 0.0)

    def scores(self, params: Any, state: EllipticalState, obs: BonusObs) -> Float[Array, " A"]:
        return self.bonus(self.widths(state, obs.frame))

    def scores_of(
        self, params: Any, state: EllipticalState, obs: BonusObs, actions: Float[Array, "K V"]
    ) -> Float[Array, " K"]:
        features = jax.vmap(lambda action: self.phi(state, obs.frame, action))(actions)
        return self.bonus(elliptical.widths(state.roots, features)[0])

    def reward(self, params: Any, state: EllipticalState, rollout: Batch) -> tuple[Float[Array, "T N"], Any]:
        """The bonus of every pair that was taken, summed over components, and the matrices with this rollout."""
        if self.joint:
            vector = self.distribution.vector
            return self.count(state, rollout.each(lambda obs, action, _: self.phi(state, obs.frame, vector(action))))
        found = rollout.each(lambda obs, action, _: (self.phi(state, obs.frame), self.distribution.vector(action)))
        features, taken = (leaf.reshape(-1, leaf.shape[-1]) for leaf in found)

        def one(root: Array, taken: Array) -> tuple[Array, Array]:
            widths, inner = elliptical.widths(root, features)
            return elliptical.add_visits(root, taken[:, None] * inner), taken * self.bonus(widths)

        roots = state.roots.reshape(self.features, self.matrices, -1)
        roots, bonus = jax.vmap(one, in_axes=1, out_axes=(1, 0))(roots, taken)
        rewards = bonus.sum(axis=0).reshape(rollout.transitions.index.shape)
        return rewards, EllipticalState(roots.reshape(state.roots.shape), state.stats, state.network)


def _unit(vector: Float[Array, " D"]) -> Float[Array, " D"]:
    return vector / jnp.maximum(jnp.sqrt(vector @ vector), 1e-8)
