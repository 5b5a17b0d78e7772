"""Generalised advantage estimation, once, for every reward stream.

Axes: T time. One stream per call; ``vmap`` outside for environments, runs and seeds.
"""

import jax
import jax.numpy as jnp


def td_errors(rewards: jax.Array, values: jax.Array, next_values: jax.Array, discounts: jax.Array | float) -> jax.Array:
    """One-step errors, ``delta_t = r_t + discount_t * v'_t - v_t``. All arrays (T,)."""
    return rewards + discounts * next_values - values


def advantages(deltas: jax.Array, decays: jax.Array | float) -> jax.Array:
    """Backward sums, ``A_t = delta_t + decay_t * A_{t+1}`` with ``A_T = 0``.

    With ``decay = gamma * lambda`` these are the generalised advantages (Schulman et al., 2016).

    Args:
        deltas: one-step errors, (T,).
        decays: a number, or one per step, (T,): zero where the stream is cut.
    """
    decays = jnp.broadcast_to(jnp.asarray(decays, deltas.dtype), deltas.shape)

    def backward(following: jax.Array, step: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        delta, decay = step
        advantage = delta + decay * following
        return advantage, advantage

    return jax.lax.scan(backward, jnp.zeros((), deltas.dtype), (deltas, decays), reverse=True, unroll=8)[1]
