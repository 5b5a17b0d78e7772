"""The terms of proximal policy optimisation (Schulman et al., 2017), per sample; means are taken outside.

Axes: A actions.
"""

import jax
import jax.numpy as jnp


def log_prob(logits: jax.Array, action: jax.Array) -> jax.Array:
    """log softmax(logits)[action], (A,), () -> ()."""
    return jax.nn.log_softmax(logits)[action]


def clipped_surrogate(ratio: jax.Array, advantage: jax.Array, clip: float) -> jax.Array:
    """Loss ``-min(ratio * A, clip(ratio, 1 - clip, 1 + clip) * A)``."""
    return -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)


def value_loss(value: jax.Array, target: jax.Array) -> jax.Array:
    """Half the squared error, without clipping."""
    return 0.5 * (value - target) ** 2


def entropy(logits: jax.Array) -> jax.Array:
    """Entropy of softmax(logits), (A,) -> ()."""
    log_probs = jax.nn.log_softmax(logits)
    return -(jnp.exp(log_probs) * log_probs).sum()


def kl_divergence(logits: jax.Array, other: jax.Array) -> jax.Array:
    """KL(softmax(logits), softmax(other)), (A,), (A,) -> ()."""
    log_probs = jax.nn.log_softmax(logits)
    return (jnp.exp(log_probs) * (log_probs - jax.nn.log_softmax(other))).sum()
