"""What all policy networks have in common: a trunk, a memory or none, and the heads.

Axes: P parts of what the trunk finds, F numbers of each, U units of the memory, L outputs of the first head, D log
standard deviations among them, V outputs of the second head.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.core.keys import named_key
from action_balance.nets.gru import GRU
from action_balance.nets.layers import Linear, normalizing


class Heads(NamedTuple):
    """What the outputs of a network are for, and what an algorithm needs of it."""

    actions: int  # A, outputs of the first head
    values: int = 2  # V, outputs of the second head
    value_gain: float | None = None  # initial gain of the second head; None for that of values
    norm: bool = False  # whether hidden layers are normalised
    memory: int = 0  # units of the memory; 0 for none
    stds: int = 0  # log standard deviations that follow the outputs of the first head
    std: float = 1.0  # what they begin with


class GaussianHead(Linear):
    """A first head with means, followed by log standard deviations that are the same in all states."""

    log_std: Float[Array, " D"]

    def __init__(self, width: int, heads: Heads, key: PRNGKeyArray) -> None:
        super().__init__(width, heads.actions, gain=0.01, key=key)
        self.log_std = jnp.full(heads.stds, math.log(heads.std))

    def __call__(self, x: Float[Array, " F"], action: Array | None = None) -> Float[Array, " L"]:
        return jnp.concatenate([super().__call__(x, action), self.log_std])


def make_policy_head(width: int, heads: Heads, key: PRNGKeyArray) -> Linear:
    return GaussianHead(width, heads, key) if heads.stds else Linear(width, heads.actions, gain=0.01, key=key)


class PolicyNet(eqx.Module):
    """The network of an agent, with two heads: the logits of pi and its two values, or the Q-values of two streams. The
    memory, where there is one, is between the trunk and the heads."""

    memory: eqx.AbstractVar[GRU | None]

    @abstractmethod
    def trunk_outputs(self, observation: Any) -> tuple[Float[Array, " F"], ...]:
        """What the trunk finds in an observation: one vector, or one for the policy and one for the values."""

    @abstractmethod
    def head_outputs(self, parts: tuple[Float[Array, " F"], ...]) -> tuple[Float[Array, " L"], Float[Array, " V"]]:
        """What the first and the second head say."""

    @property
    def precision(self) -> str:
        """Precision of matrix products. Full float32, also on devices that default to less: the first ratio of an
        update is 1 only if the policy computes the same numbers when it acts and when it learns. Networks with
        convolutions of another number type use the device's default."""
        return "highest"

    def __call__(self, observation: Any) -> tuple[Float[Array, " L"], Float[Array, " V"]]:
        if self.memory is not None:
            raise TypeError("this policy has a memory: call step")
        with jax.default_matmul_precision(self.precision):
            return self.head_outputs(self.trunk_outputs(observation))

    def features(self, observation: Any) -> Float[Array, "P F"]:
        with jax.default_matmul_precision(self.precision):
            return jnp.stack(self.trunk_outputs(observation))

    def heads(self, state: Float[Array, "P U"]) -> tuple[Float[Array, " L"], Float[Array, " V"]]:
        with jax.default_matmul_precision(self.precision):
            return self.head_outputs(tuple(state))

    def step(
        self, observation: Any, state: Float[Array, "P U"] | None
    ) -> tuple[Float[Array, " L"], Float[Array, " V"], Float[Array, "P U"] | None]:
        if self.memory is None:
            return *self(observation), None
        if state is None:
            raise TypeError("this policy has a memory: pass its state")
        state = self.memory.advance(self.memory.project(self.features(observation)), state)
        return *self.heads(state), state


class ResidualPolicy(PolicyNet):
    """A policy with one residual layer each for actor and critic, and a head after each of them."""

    actor: eqx.AbstractVar[Linear]
    critic: eqx.AbstractVar[Linear]
    policy_head: eqx.AbstractVar[Linear]  # (L,)
    value_head: eqx.AbstractVar[Linear]  # (V,)
    norm: eqx.AbstractVar[bool]  # whether hidden layers are normalised

    def nonlinear(self, x: Array) -> Array:
        return normalizing(jax.nn.relu, self.norm)(x)

    def head_outputs(self, parts: tuple[Array, ...]) -> tuple[Array, Array]:
        (x,) = parts
        actor = x + self.nonlinear(self.actor(x))
        critic = x + self.nonlinear(self.critic(x))
        return self.policy_head(actor), self.value_head(critic)


def make_heads(width: int, heads: Heads, keys: Sequence[PRNGKeyArray]) -> tuple[Linear, Linear, Linear, Linear]:
    """The layers of a `ResidualPolicy`: actor, critic, policy head and value head, each with its key."""
    actor, critic, policy, value = keys
    gain = 0.01 if heads.value_gain is None else heads.value_gain
    return (
        Linear(width, width, gain=0.1, key=actor),
        Linear(width, width, gain=0.1, key=critic),
        make_policy_head(width, heads, policy),
        Linear(width, heads.values, gain=gain, key=value),
    )


def make_memory(units: int, width: int, parts: int, key: PRNGKeyArray) -> tuple[GRU | None, int]:
    """The memory of a policy, with a cell for each part, and the width of what its heads see.

    Its key is derived, so that all other weights are those of a policy without memory.
    """
    if not units:
        return None, width
    return GRU(width, units, cells=parts, key=named_key(key, "memory")), units
