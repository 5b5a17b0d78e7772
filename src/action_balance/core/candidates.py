"""Action balance where actions cannot be listed: Eq. 5 by candidates.

``beta(a|s) ~ pi(a|s) exp(c Normalize(r_ab(s, a)))`` needs no list of actions. K candidates are drawn from pi, and one
of them by ``w = softmax(s)`` with ``s_k = c Normalize(r_ab(s, .))_k``. The action comes from each of the K places with
the same density, so that of the procedure is

    q(a) = pi(a) E[exp(s(a)) / Z],     Z = (exp(s(a)) + sum_{k > 1} exp(s(a_k))) / K,

with a_2 to a_K drawn from pi. As K grows, Z becomes ``E_pi[exp(s)]`` and q becomes Eq. 5. The expectation is estimated
by the candidates that were drawn, and s is taken as given, although ``Normalize`` depends on all of them.

PPO's ratio needs q of a policy that has changed since, by ``rho_k = pi(a_k) / pi_then(a_k)``. Its gradient is that of
the expected advantage A of the procedure, ``E[sum_j w_j A_j sum_k grad log pi(a_k)]``, where the other candidates are
as important as the action. With ``v_k = w_k / (1 - w_k)``, the term of another candidate has the same mean as with the
factor ``-v_k``, because ``w_j (1 + v_k)`` does not depend on a_k, and ``E[grad log pi(a_k)] = 0``. So

    rho_a / (sum_{k != a} v_k rho_k / V)^V,     V = sum_{k != a} v_k,

has this gradient without bias at ``rho = 1``, with little variance, and is Eq. 5's ratio for many candidates.

All functions are of one state. Axes: K candidates.
"""

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from action_balance.core.balance import normalize
from action_balance.core.options import Normalization

#: Least share of all other candidates: where one has nearly all, the variance would be large.
LEAST = 0.05
#: Least share of a candidate, of which there is a logarithm.
TINY = 1e-30


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
        The logarithm of ``exp(s(a)) / Z``, less what the other candidates' drift adds to Z.
    """
    weight = jnp.where(mine, shift, 0.0).sum() + math.log(len(shift)) - jax.nn.logsumexp(shift)
    if len(shift) == 1:
        return weight
    shares = jnp.maximum(jax.nn.softmax(shift), TINY)
    others = jnp.where(mine, 0.0, shares / jnp.maximum(1 - shares, LEAST))
    total = others.sum()
    return weight - total * (jax.nn.logsumexp(drift, b=others) - jnp.log(total))


def divergence(shift: Float[Array, " K"], drift: Float[Array, " K"]) -> Float[Array, ""]:
    """An estimate of ``KL(beta || pi) = E_beta[s] - log E_pi[exp(s)]``, exactly 0 where s is 0.

    Args:
        shift: As for `log_weight`.
        drift: As for `log_weight`.

    Returns:
        The divergence in nats; at most ``log K`` where the policy has not changed.
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
