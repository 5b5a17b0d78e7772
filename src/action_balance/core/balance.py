"""Action balance: rarely tried actions get tried (Eq. 5).

Axes: A actions. One state per call; ``vmap`` outside for time, environments and seeds.
"""

from typing import Literal, get_args

import jax
import jax.numpy as jnp

from action_balance.errors import check_name

#: How a bonus vector is normalised before it is added to the logits.
Normalization = Literal["raw", "l2", "standard"]


def normalize(bonus: jax.Array, kind: Normalization = "l2") -> jax.Array:
    """``Normalize`` of Eq. 5 over the action axis, (A,) -> (A,).

    ``raw`` leaves the errors as they are, ``l2`` divides them by their Euclidean norm (the authors' program; all
    errors being positive, the result lies in [0, 1]), ``standard`` subtracts their mean and divides by their standard
    deviation. A vector without length or spread gives zeros: it says nothing about the actions.
    """
    check_name("normalisation", kind, get_args(Normalization))
    if kind == "raw":
        return bonus
    if kind == "standard":
        # From the largest entry first, so that equal entries become exactly zero.
        bonus = bonus - bonus.max()
        bonus = bonus - bonus.mean()
    # Scaled by the largest entry first, so that squares of tiny errors do not vanish.
    largest = jnp.abs(bonus).max()
    scaled = bonus / jnp.where(largest > 0, largest, 1)
    square = (scaled**2).mean() if kind == "standard" else (scaled**2).sum()
    return scaled / jnp.where(square > 0, jnp.sqrt(square), 1)


def balance(
    logits: jax.Array, bonus: jax.Array, coef: jax.Array | float = 1.0, kind: Normalization = "l2"
) -> jax.Array:
    """Logits of the behaviour policy, ``beta(.|s) = softmax(logits + c * Normalize(r_ab(s, .)))`` (Eq. 5).

    The bonus gets no gradient.

    Args:
        logits: of the policy pi, (A,).
        bonus: errors of all actions of the state, (A,).
        coef: c; a number, or the value of a schedule at this update.
        kind: how the bonus is normalised.
    """
    return logits + coef * normalize(jax.lax.stop_gradient(bonus), kind)
