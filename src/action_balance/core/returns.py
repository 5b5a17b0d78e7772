"""Generalised advantage estimation (Schulman et al., 2016, https://arxiv.org/abs/1506.02438) for any reward stream.

Axes: T time. One stream per call; ``vmap`` outside for environments, runs and seeds.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def td_errors(
    rewards: Float[Array, " T"],
    values: Float[Array, " T"],
    next_values: Float[Array, " T"],
    discounts: Float[Array, " T"] | Float[Array, ""] | float,
) -> Float[Array, " T"]:
    """One-step temporal-difference errors, ``delta_t = r_t + discount_t * v'_t - v_t``.

    Args:
        rewards: Reward of each step.
        values: Value of the state that was acted from.
        next_values: Value of the state that was reached.
        discounts: Discount of each step: zero where the stream is cut.

    Returns:
        The error of each step.
    """
    return rewards + discounts * next_values - values


def advantages(deltas: Float[Array, " T"], decays: Float[Array, " T"] | Float[Array, ""] | float) -> Float[Array, " T"]:
    """Backward sums, ``A_t = delta_t + decay_t * A_{t+1}`` with ``A_T = 0``.

    With ``decay = gamma * lambda`` these are the generalised advantages.

    Args:
        deltas: One-step errors.
        decays: A constant, or one decay per step: zero where the stream is cut.

    Returns:
        The advantage of each step.
    """
    decays = jnp.broadcast_to(jnp.asarray(decays, deltas.dtype), deltas.shape)

    def backward(following: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        delta, decay = step
        advantage = delta + decay * following
        return advantage, advantage

    return jax.lax.scan(backward, jnp.zeros((), deltas.dtype), (deltas, decays), reverse=True, unroll=8)[1]
