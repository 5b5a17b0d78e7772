"""What all policy networks have in common: a trunk, a memory or none, and the heads.

Axes: P parts of what the trunk finds, F numbers of each, U units of the memory, A choices of all action components.
"""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.core.keys import named_key
from action_balance.nets.gru import GRU


class PolicyNet(eqx.Module):
    """A policy with its two value functions. The memory, where there is one, is between the trunk and the heads."""

    memory: eqx.AbstractVar[GRU | None]

    @abstractmethod
    def trunk_outputs(self, observation: Any) -> tuple[Float[Array, " F"], ...]:
        """What the trunk finds in an observation: one vector, or one for the policy and one for the values.

        Args:
            observation: One observation as the policy sees it.

        Returns:
            P vectors.
        """

    @abstractmethod
    def head_outputs(self, parts: tuple[Float[Array, " F"], ...]) -> tuple[Float[Array, " A"], Float[Array, " 2"]]:
        """Logits of pi, and the intrinsic and extrinsic values.

        Args:
            parts: What the trunk has found or, with a memory, the state of each of its cells.

        Returns:
            Logits, and both values.
        """

    @property
    def precision(self) -> str:
        """Precision of matrix products. Full float32, also on devices that default to less: the first ratio of an
        update is 1 only if the policy computes the same numbers when it acts and when it learns."""
        return "highest"

    def __call__(self, observation: Any) -> tuple[Float[Array, " A"], Float[Array, " 2"]]:
        """Logits of pi, and the intrinsic and extrinsic values, of a policy without memory.

        Args:
            observation: One observation as the policy sees it.

        Returns:
            Logits, and both values.
        """
        if self.memory is not None:
            raise TypeError("this policy has a memory: call step")
        with jax.default_matmul_precision(self.precision):
            return self.head_outputs(self.trunk_outputs(observation))

    def features(self, observation: Any) -> Float[Array, "P F"]:
        """What the trunk finds in an observation, as the memory takes it.

        Args:
            observation: One observation as the policy sees it.

        Returns:
            The inputs of the cells.
        """
        with jax.default_matmul_precision(self.precision):
            return jnp.stack(self.trunk_outputs(observation))

    def heads(self, state: Float[Array, "P U"]) -> tuple[Float[Array, " A"], Float[Array, " 2"]]:
        """Logits of pi, and the intrinsic and extrinsic values, of a state of the memory.

        Args:
            state: The memory with the newest observation.

        Returns:
            Logits, and both values.
        """
        with jax.default_matmul_precision(self.precision):
            return self.head_outputs(tuple(state))

    def step(
        self, observation: Any, state: Float[Array, "P U"] | None
    ) -> tuple[Float[Array, " A"], Float[Array, " 2"], Float[Array, "P U"] | None]:
        """Logits and values of an observation, and the memory with it.

        Args:
            observation: One observation as the policy sees it.
            state: The memory of the episode before it, zero at its beginning; None of a policy without memory.

        Returns:
            Logits, both values, and the memory.
        """
        if self.memory is None:
            return *self(observation), None
        if state is None:
            raise TypeError("this policy has a memory: pass its state")
        state = self.memory.advance(self.memory.project(self.features(observation)), state)
        return *self.heads(state), state


def make_memory(units: int, width: int, parts: int, key: PRNGKeyArray) -> tuple[GRU | None, int]:
    """The memory of a policy, and the width of what its heads see.

    Args:
        units: Units of each cell; 0 for a policy without memory.
        width: Of what the trunk finds.
        parts: Number of vectors that the trunk finds, each of which has a cell.
        key: Random key of the policy: that of the memory is derived from it, so that all other weights are those of a
            policy without memory.

    Returns:
        The memory, and the width.
    """
    if not units:
        return None, width
    return GRU(width, units, cells=parts, key=named_key(key, "memory")), units
