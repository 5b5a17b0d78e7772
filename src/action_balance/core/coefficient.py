"""The coefficient c of Eq. 5 where it adapts, so that the behaviour policy stays at a chosen distance from pi."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def adapt(
    coef: Float[Array, ""], kl: Float[Array, ""], target: float, rate: float, low: float, high: float
) -> Float[Array, ""]:
    """One step of dual ascent on log c: ``c <- clip(c exp(rate max((target - KL) / target, -1)), low, high)``.

    c grows while KL(beta || pi) is below its target, and shrinks while it is above, by at most a factor of exp(rate).
    In the logarithm, steps are relative and c stays positive. The temperature of soft actor-critic adapts to a target
    entropy in the same way (Haarnoja et al., 2018, https://arxiv.org/abs/1812.05905).

    Args:
        coef: c before.
        kl: Mean KL(beta || pi) of the rollout that was acted last, in nats.
        target: What it should be, above 0.
        rate: Largest change of log c.
        low: Least c, above 0.
        high: Greatest c.

    Returns:
        c of the next rollout.
    """
    step = rate * jnp.maximum((target - kl) / target, -1.0)
    return jnp.clip(coef * jnp.exp(step), low, high)
