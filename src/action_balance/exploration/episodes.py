"""Returns of episodes and the first reward, for environments on the device (JAX) and on the host (NumPy) alike.

Axes: T steps of a rollout, N environments.
"""

from typing import Any, NamedTuple

from jaxtyping import Bool, Float, Int, Shaped

from action_balance.errors import MAX

#: An array of JAX or of NumPy; the functions use the library that it belongs to.
Array = Any


class Episodes(NamedTuple):
    """The episodes that ended in a rollout."""

    number: Shaped[Array, ""]
    mean_return: Shaped[Array, ""]  # nan without any
    best_return: Shaped[Array, ""]  # nan without any


def add_rewards(
    returns: Float[Array, " N"], reward: Float[Array, " N"], ended: Bool[Array, " N"]
) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
    """Returns of the episodes under way after a step, and of those that it ended, 0 elsewhere."""
    xp = ended.__array_namespace__()
    returns = returns + reward
    return xp.where(ended, 0.0, returns), xp.where(ended, returns, 0.0)


def summarize(finished: Float[Array, "T N"], ended: Bool[Array, "T N"]) -> Episodes:
    xp = ended.__array_namespace__()
    number = ended.sum()
    mean = xp.where(number > 0, finished.sum() / xp.maximum(number, 1), xp.nan)
    best = xp.where(number > 0, xp.where(ended, finished, -xp.inf).max(), xp.nan)
    return Episodes(number, mean, best)


def mean_at_ends(values: Float[Array, "T N"], ended: Bool[Array, "T N"]) -> Float[Array, ""]:
    """The mean of a number of the episodes, such as their achievements, when they end."""
    xp = ended.__array_namespace__()
    number = ended.sum()
    return xp.where(number > 0, xp.where(ended, values, 0.0).sum() / xp.maximum(number, 1), xp.nan)


def first_reward(before: Int[Array, ""], reward: Float[Array, "T N"], rollouts: Int[Array, ""]) -> Int[Array, ""]:
    """Environment steps, summed over environments, until the first positive reward; -1 before it. So many ``rollouts``
    were made before this one."""
    xp = reward.__array_namespace__()
    steps, envs = reward.shape
    positive = (reward > 0).any(axis=1)
    when = (rollouts * steps + positive.argmax() + 1) * envs
    when = xp.where(rollouts < MAX // (steps * envs), when, MAX)  # more does not fit
    return xp.where((before < 0) & positive.any(), when, before)
