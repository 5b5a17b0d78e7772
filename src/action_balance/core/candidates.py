"""Action balance where actions cannot be listed: Eq. 5 by candidates.

``beta(a|s) ~ pi(a|s) exp(c Normalize(r_ab(s, a)))`` needs no list of actions. K candidates are drawn from pi, and one
of them by ``w = softmax(s)`` with ``s_k = c Normalize(r_ab(s, .))_k``. Seen from the action a that was drawn, the other
K - 1 candidates are independent draws from pi, so the procedure has the density

    q(a) = pi(a) E[exp(s(a)) / Z],     Z = (exp(s(a)) + sum_{k > 1} exp(s(a_k))) / K,

and as K grows, Z becomes ``E_pi[exp(s)]`` and q becomes Eq. 5. PPO's ratio needs q of a policy pi that has changed
since the candidates were drawn. Two things are approximated: the expectation, by the candidates that were drawn, and Z
under the new policy, by weighting them with ``rho_k = pi(a_k) / pi_then(a_k)``. The action itself is given and not a
draw, so that its own term has no such weight: without it, one candidate would have no gradient, and a few too small a
one.

All functions are of one state. Axes: K candidates.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from action_balance.core.balance import normalize
from action_balance.core.options import Normalization


def normalize_candidates(bonus: Float[Array, " K"], kind: Normalization = "l2") -> Float[Array, " K"]:
    """``Normalize`` of Eq. 5 over candidates, so that it does not depend on how many there are.

    Args:
        bonus: The bonus of every candidate.
        kind: As for `normalize`, but ``l2`` divides by the root of the mean square.

    Returns:
        The normalised vector.
    """
    return normalize(bonus, kind) * (math.sqrt(len(bonus)) if kind == "l2" else 1.0)


def log_weight(shift: Float[Array, " K"], drift: Float[Array, " K"], mine: Bool[Array, " K"]) -> Float[Array, ""]:
    """``log q(a) - log pi(a)``, the log-density of the procedure relative to that of the policy.

    Args:
        shift: s, what Eq. 5 adds.
        drift: ``log rho``, how the log-probabilities of the candidates have changed since they were drawn.
        mine: Which candidate a is.

    Returns:
        The logarithm of ``exp(s(a)) / Z``.
    """
    taken = jnp.where(mine, shift, 0.0).sum()
    return taken + math.log(len(shift)) - jax.nn.logsumexp(shift + jnp.where(mine, 0.0, drift))


def divergence(shift: Float[Array, " K"], drift: Float[Array, " K"]) -> Float[Array, ""]:
    """An estimate of ``KL(beta || pi) = E_beta[s] - log E_pi[exp(s)]``, exactly 0 where s is 0.

    Args:
        shift: As for `log_weight`.
        drift: As for `log_weight`.

    Returns:
        The divergence in nats, at most ``log K``.
    """
    normalizer = jax.nn.logsumexp(shift + drift) - jax.nn.logsumexp(drift)
    return (jax.nn.softmax(shift + drift) * shift).sum() - normalizer


def entropy_difference(
    shift: Float[Array, " K"], drift: Float[Array, " K"], log_probs: Float[Array, " K"]
) -> Float[Array, ""]:
    """An estimate of the entropy of beta minus that of pi, exactly 0 where s is 0.

    Args:
        shift: As for `log_weight`.
        drift: As for `log_weight`.
        log_probs: Log-probabilities of the candidates now.

    Returns:
        ``E_pi[log pi] - E_beta[log pi] - KL(beta || pi)``.
    """
    difference = jax.nn.softmax(drift) - jax.nn.softmax(shift + drift)
    return (difference * log_probs).sum() - divergence(shift, drift)
