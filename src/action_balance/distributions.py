"""Actions of several components, as in Gymnasium's MultiDiscrete: a choice of its own in each.

The policy is a product of categoricals, whose logits stand one after the other. Each component is balanced on its own:
its part of the bonus vector is normalised alone and added to its part of the logits (Eq. 5). The probability of an
action is the product over its components: log-probabilities, entropies and divergences are sums over them.

Axes: C components, A choices of all components together. One state per call; ``vmap`` outside.
"""

from collections.abc import Callable
from itertools import accumulate

import jax
import jax.numpy as jnp

from action_balance.core import ppo
from action_balance.core.balance import Normalization, balance

#: How many choices each component has. None: actions are plain numbers, () in place of (C,).
Parts = tuple[int, ...] | None


def choices(actions: int | tuple[int, ...]) -> tuple[int, Parts]:
    """A, and the components: of a number of actions, or of the choices in each component."""
    return (actions, None) if isinstance(actions, int) else (sum(actions), actions)


def split(vector: jax.Array, parts: tuple[int, ...]) -> list[jax.Array]:
    """The parts of a vector, (A,), that belong to the components."""
    return [vector[end - size : end] for size, end in zip(parts, accumulate(parts), strict=True)]


def places(action: jax.Array, parts: tuple[int, ...]) -> jax.Array:
    """Where the choices of an action stand among all choices, (C,) -> (C,)."""
    return action + jnp.array([end - size for size, end in zip(parts, accumulate(parts), strict=True)], jnp.int32)


def balanced(logits: jax.Array, bonus: jax.Array, coef: jax.Array, kind: Normalization, parts: Parts) -> jax.Array:
    """Logits of the behaviour policy (Eq. 5), (A,), component by component."""
    return _joined(lambda x, y: balance(x, y, coef, kind), parts, logits, bonus)


def normalized(bonus: jax.Array, function: Callable[[jax.Array], jax.Array], parts: Parts) -> jax.Array:
    """A function of each component's part of the bonus vector, (A,) -> (A,)."""
    return _joined(function, parts, bonus)


def choose(scores: jax.Array, parts: Parts) -> jax.Array:
    """The largest of the scores, or that of each component: (A,) -> () or (C,) int32."""
    if parts is None:
        return scores.argmax(axis=-1).astype(jnp.int32)
    return jnp.stack([one.argmax() for one in split(scores, parts)]).astype(jnp.int32)


def log_prob(logits: jax.Array, action: jax.Array, parts: Parts) -> jax.Array:
    """Log-probability of an action: the sum over its components, (A,), () or (C,) -> ()."""
    if parts is None:
        return ppo.log_prob(logits, action)
    return jnp.stack([ppo.log_prob(one, action[i]) for i, one in enumerate(split(logits, parts))]).sum()


def entropy(logits: jax.Array, parts: Parts) -> jax.Array:
    """Entropy of the policy: the sum over the components, (A,) -> ()."""
    return _summed(ppo.entropy, parts, logits)


def kl_divergence(logits: jax.Array, other: jax.Array, parts: Parts) -> jax.Array:
    """Divergence of two policies: the sum over the components, (A,), (A,) -> ()."""
    return _summed(ppo.kl_divergence, parts, logits, other)


def frequency(action: jax.Array, choices: int, parts: Parts) -> jax.Array:
    """What was chosen, one-hot in each component, () or (C,) -> (A,)."""
    if parts is None:
        return jax.nn.one_hot(action, choices)
    return jax.nn.one_hot(places(action, parts), choices).sum(axis=0)


def _joined(function: Callable[..., jax.Array], parts: Parts, *vectors: jax.Array) -> jax.Array:
    if parts is None:
        return function(*vectors)
    return jnp.concatenate([function(*one) for one in zip(*(split(x, parts) for x in vectors), strict=True)])


def _summed(function: Callable[..., jax.Array], parts: Parts, *vectors: jax.Array) -> jax.Array:
    if parts is None:
        return function(*vectors)
    return jnp.stack([function(*one) for one in zip(*(split(x, parts) for x in vectors), strict=True)]).sum()
