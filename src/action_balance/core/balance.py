"""Action balance (Eq. 5), and the epsilon-greedy mixture it is compared with.

If an environment provides an action mask, both apply to the allowed actions only: a forbidden action has no bonus, and
the logit `FORBIDDEN`. Axes: A actions. One state per call; ``vmap`` outside for time, environments and seeds.
"""

from typing import get_args

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from action_balance.core.options import Normalization
from action_balance.errors import check_name

#: The logit of a forbidden action. Its probability is exactly zero; unlike with -inf, products and differences are
#: numbers.
FORBIDDEN = -1e9


def mask_logits(logits: Float[Array, "*s A"], mask: Bool[Array, "*s A"] | None) -> Float[Array, "*s A"]:
    """Logits of the distribution over allowed actions, ``softmax(logits)`` renormalised; others get no gradient.

    Args:
        logits: Logits of all actions.
        mask: Which actions are allowed; None if all of them are.

    Returns:
        The logits, `FORBIDDEN` where an action is forbidden.
    """
    return logits if mask is None else jnp.where(mask, logits, FORBIDDEN)


def normalize(
    bonus: Float[Array, " A"], kind: Normalization = "l2", mask: Bool[Array, " A"] | None = None
) -> Float[Array, " A"]:
    """``Normalize`` of Eq. 5 over the action axis.

    A vector with zero norm or zero spread becomes zeros: it does not distinguish the actions.

    Args:
        bonus: The bonus of every action of a state.
        kind: ``raw`` leaves the bonus as it is; ``l2`` divides it by its Euclidean norm (as in the authors' code;
            bonuses are positive, so the result lies in [0, 1]); ``standard`` subtracts the mean and divides by the
            standard deviation.
        mask: Which actions are allowed; None if all of them are.

    Returns:
        The normalised vector: norm, mean and standard deviation are those of the allowed actions, others have 0.
    """
    check_name("normalisation", kind, get_args(Normalization))
    bonus = bonus if mask is None else jnp.where(mask, bonus, 0.0)
    if kind == "raw":
        return bonus
    if kind == "standard":
        # Subtract the largest entry first, so that equal entries become exactly zero.
        bonus = bonus - bonus.max(where=mask, initial=None if mask is None else -jnp.inf)
        bonus = bonus - bonus.mean(where=mask)
        bonus = bonus if mask is None else jnp.where(mask, bonus, 0.0)
    # Scale by the largest entry first, so that squares of tiny errors do not underflow.
    largest = jnp.abs(bonus).max()
    scaled = bonus / jnp.where(largest > 0, largest, 1)
    square = (scaled**2).mean(where=mask) if kind == "standard" else (scaled**2).sum()
    return scaled / jnp.where(square > 0, jnp.sqrt(square), 1)


def balance(
    logits: Float[Array, " A"],
    bonus: Float[Array, " A"],
    coef: Float[Array, ""] | float = 1.0,
    kind: Normalization = "l2",
    mask: Bool[Array, " A"] | None = None,
) -> Float[Array, " A"]:
    """Logits of the behaviour policy, ``beta(.|s) = softmax(logits + c * Normalize(r_ab(s, .)))`` (Eq. 5).

    The bonus receives no gradient.

    Args:
        logits: Logits of the policy pi.
        bonus: The bonus of every action of the state.
        coef: c, a constant or the value of a schedule at this update.
        kind: How the bonus is normalised.
        mask: Which actions are allowed; None if all of them are.

    Returns:
        The logits of beta.
    """
    return mask_logits(logits, mask) + coef * normalize(jax.lax.stop_gradient(bonus), kind, mask)


def mix_uniform(
    logits: Float[Array, " A"], epsilon: float | Float[Array, ""], mask: Bool[Array, " A"] | None = None
) -> Float[Array, " A"]:
    """Logits of a policy that is uniform with probability epsilon, ``(1 - epsilon) beta + epsilon / A``.

    They are computed from log-probabilities, so that improbable actions of beta do not underflow.

    Args:
        logits: Logits of beta.
        epsilon: Probability of a random action, from 0 to 1.
        mask: Which actions are allowed; None if all of them are. A counts the allowed ones.

    Returns:
        Log-probabilities of the mixture.
    """
    own = jnp.log1p(-epsilon) + jax.nn.log_softmax(mask_logits(logits, mask))
    allowed = logits.size if mask is None else mask.sum()
    return mask_logits(jnp.logaddexp(own, jnp.log(epsilon / allowed)), mask)
