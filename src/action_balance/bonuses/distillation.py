"""Random network distillation: a fixed random target, a predictor that learns it, and the error between the two.

The error is high for inputs seen rarely (Burda et al., 2019), for states (Eq. 1) as for pairs (Eq. 2). Axes: A actions,
D outputs of the networks. One input per call; ``vmap`` outside.
"""

from typing import Protocol

import equinox as eqx
import jax


class Features(Protocol):
    """What target and predictor are: networks of a state, and of a pair where they know actions."""

    def __call__(self, observation: jax.Array, action: jax.Array | None = None) -> jax.Array:
        """Output of a state or a pair, (D,)."""
        ...

    def all_actions(self, observation: jax.Array) -> jax.Array:
        """Outputs of all actions of a state, (A, D)."""
        ...


def squared_error(prediction: jax.Array, target: jax.Array) -> jax.Array:
    """Mean over the outputs of the squared differences, (..., D) -> (...): Eq. 1 and 2 up to the factor 1 / D."""
    return ((prediction - target) ** 2).mean(axis=-1)


class Distillation(eqx.Module):
    """A target and a predictor of the same input. Only the predictor is trained."""

    target: Features
    predictor: Features

    def error(self, observation: jax.Array, action: jax.Array | None = None) -> jax.Array:
        """``||f_hat(s) - f(s)||^2`` (Eq. 1) or ``||g_hat(s, a) - g(s, a)||^2`` (Eq. 2).

        No gradient reaches the target.
        """
        target = jax.lax.stop_gradient(self.target(observation, action))
        return squared_error(self.predictor(observation, action), target)

    def all_errors(self, observation: jax.Array) -> jax.Array:
        """The bonus vector ``r_ab(s, .)`` (Eq. 4): errors of all actions of a state, (A,).

        What does not depend on the action is computed once.
        """
        target = jax.lax.stop_gradient(self.target.all_actions(observation))
        return squared_error(self.predictor.all_actions(observation), target)
