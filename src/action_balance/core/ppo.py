"""Terms of proximal policy optimisation (Schulman et al., 2017, https://arxiv.org/abs/1707.06347), per sample."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def clipped_surrogate(
    ratio: Float[Array, ""], advantage: Float[Array, ""], clip: float | Float[Array, ""]
) -> Float[Array, ""]:
    """Policy loss, ``-min(ratio * A, clip(ratio, 1 - clip, 1 + clip) * A)``.

    Args:
        ratio: Probability of the action under the current policy over that under the policy that acted.
        advantage: A, the advantage of the action.
        clip: Largest change of the ratio that is rewarded.

    Returns:
        The loss of one sample.
    """
    return -jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - clip, 1 + clip) * advantage)


def value_loss(value: Float[Array, " *s"], target: Float[Array, " *s"]) -> Float[Array, " *s"]:
    """Half the squared error of a value prediction, without clipping.

    Args:
        value: Predicted values.
        target: Regression targets.

    Returns:
        The loss of each value.
    """
    return 0.5 * (value - target) ** 2
