"""Terms of losses, per sample, and what is commonly done to advantages, gradients and rates. Axes: B samples of a
minibatch."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


def clipped_surrogate(
    ratio: Float[Array, ""], advantage: Float[Array, ""], clip: float | Float[Array, ""]
) -> Float[Array, ""]:
    """Policy loss of PPO (Schulman et al., 2017), ``-min(ratio * A, clip(ratio, 1 - clip, 1 + clip) * A)``.

    Args:
        ratio: Probability of the action under the current policy, divided by that under the policy that acted.
        advantage: A, the advantage of the action.
        clip: Largest change of the ratio that is rewarded.

    Returns:
        The loss of one sample.
    """
    return -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)


def standardize(advantages: Float[Array, "*b"], of: Float[Array, "..."]) -> Float[Array, "*b"]:
    """Advantages in units of their standard deviation, ``(A - mean) / (std + 1e-8)``.

    Args:
        advantages: Advantages of a minibatch, or of a part of it.
        of: Advantages of the whole minibatch, which mean and standard deviation are of.

    Returns:
        The standardised advantages.
    """
    return (advantages - of.mean()) / (of.std() + 1e-8)


def clip_by_norm(gradients: PyTree, most: float | Float[Array, ""]) -> PyTree:
    """Gradients whose L2 norm, over all arrays together, is at most a number.

    Args:
        gradients: The gradients.
        most: The number.

    Returns:
        The gradients, scaled by a common factor where they are longer.
    """
    squares = [jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradients)]
    norm = jnp.sqrt(jnp.sum(jnp.stack(squares)))
    factor = jnp.where(norm > most, most / jnp.maximum(norm, most), 1.0)
    return jax.tree.map(lambda leaf: factor * leaf, gradients)


def linear_decay(start: float, end: float, progress: float | Float[Array, ""]) -> Float[Array, ""]:
    """Linear interpolation from a start to an end.

    Args:
        start: Its value at progress 0.
        end: Its value at progress 1, and beyond.
        progress: Proportion of the schedule that is complete.

    Returns:
        ``start + (end - start) * min(progress, 1)``.
    """
    return start + (end - start) * jnp.minimum(jnp.asarray(progress, jnp.float32), 1.0)


def squared_error(value: Float[Array, " *s"], target: Float[Array, " *s"]) -> Float[Array, " *s"]:
    """Half the squared error of a value prediction, without clipping.

    Args:
        value: Predicted values.
        target: Regression targets.

    Returns:
        The loss of each value.
    """
    return 0.5 * (value - target) ** 2
