"""The distribution over discrete actions, of one component or of several (Gymnasium's Discrete and MultiDiscrete).

An action of several components is a choice in each of them. The policy is a product of categorical distributions, and
the logits of all components form one vector: log-probabilities, entropies and divergences are sums over components.
This module is all that knows about components.

Axes: C components, A choices of all components together. One state per call; ``vmap`` outside.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Shaped


@dataclass(frozen=True)
class Categorical:
    """A categorical distribution over ``choices`` actions; actions are scalars."""

    choices: int

    def log_prob(self, logits: Float[Array, " A"], action: Int[Array, ""]) -> Float[Array, ""]:
        """``log softmax(logits)[action]``, for the logits of all choices and one action."""
        return jax.nn.log_softmax(logits)[action]

    def entropy(self, logits: Float[Array, " A"]) -> Float[Array, ""]:
        """Entropy of ``softmax(logits)`` in nats."""
        log_probs = jax.nn.log_softmax(logits)
        return -(jnp.exp(log_probs) * log_probs).sum()

    def kl(self, logits: Float[Array, " A"], other: Float[Array, " A"]) -> Float[Array, ""]:
        """Kullback-Leibler divergence ``KL(softmax(logits) || softmax(other))`` in nats."""
        log_probs = jax.nn.log_softmax(logits)
        return (jnp.exp(log_probs) * (log_probs - jax.nn.log_softmax(other))).sum()


@dataclass(frozen=True)
class MultiCategorical:
    """A product of independent categorical distributions, one per component.

    ``nvec`` has the number of choices of each component. A plain discrete action space is ``nvec = (A,)``, and its
    actions are scalars; actions of several components have shape (C,).
    """

    nvec: tuple[int, ...]

    @property
    def choices(self) -> int:
        """A, the number of choices of all components together: the length of the logits."""
        return sum(self.nvec)

    @property
    def action_shape(self) -> tuple[int, ...]:
        """The shape of one action: () for one component, (C,) for several."""
        return () if len(self.nvec) == 1 else (len(self.nvec),)

    @property
    def _components(self) -> list[tuple[Categorical, slice]]:
        return [(Categorical(n), slice(end - n, end)) for n, end in zip(self.nvec, accumulate(self.nvec), strict=True)]

    def uniform(self, key: PRNGKeyArray, count: int) -> Int[Array, "count ..."]:
        """Sample actions uniformly at random."""
        highest = self.nvec[0] if len(self.nvec) == 1 else jnp.array(self.nvec)
        return jax.random.randint(key, (count, *self.action_shape), 0, highest)

    def sample(self, logits: Float[Array, " A"], noise: Float[Array, " A"]) -> Int[Array, "..."]:
        """Sample an action with the Gumbel-max trick, from samples of the standard Gumbel distribution."""
        return self.mode(logits + noise)

    def mode(self, logits: Float[Array, " A"]) -> Int[Array, "..."]:
        """The most probable action, () or (C,) int32."""
        chosen = [logits[part].argmax().astype(jnp.int32) for _, part in self._components]
        return jnp.stack(chosen).reshape(self.action_shape)

    def log_prob(self, logits: Float[Array, " A"], action: Int[Array, "..."]) -> Float[Array, ""]:
        """Log-probability of an action: the sum over its components."""
        action = jnp.reshape(action, (len(self.nvec),))
        return _sum([one.log_prob(logits[part], action[i]) for i, (one, part) in enumerate(self._components)])

    def entropy(self, logits: Float[Array, " A"]) -> Float[Array, ""]:
        """Entropy: the sum over the components."""
        return _sum([one.entropy(logits[part]) for one, part in self._components])

    def kl(self, logits: Float[Array, " A"], other: Float[Array, " A"]) -> Float[Array, ""]:
        """Kullback-Leibler divergence from ``other``: the sum over the components."""
        return _sum([one.kl(logits[part], other[part]) for one, part in self._components])

    def per_component(self, function: Callable[..., Array], *vectors: Shaped[Array, " A"] | None) -> Float[Array, " A"]:
        """Apply a function to each component's part of vectors, and join the results. None is passed as it is."""

        def cut(vector: Array | None, part: slice) -> Array | None:
            return None if vector is None else vector[part]

        return jnp.concatenate([function(*(cut(vector, part) for vector in vectors)) for _, part in self._components])

    def split(self, vector: Float[Array, " A"]) -> list[Float[Array, " _"]]:
        """The parts of a vector over all choices, one per component."""
        return [vector[part] for _, part in self._components]

    def chosen(self, vector: Float[Array, " A"], action: Int[Array, "..."]) -> Float[Array, " C"]:
        """The entries of a vector over all choices that belong to an action, one per component."""
        offsets = jnp.array([part.start for _, part in self._components], jnp.int32)
        return vector[jnp.reshape(action, (len(self.nvec),)) + offsets]

    def one_hot(self, action: Int[Array, "..."]) -> Float[Array, " A"]:
        """The action as a vector over all choices, one-hot in each component."""
        action = jnp.reshape(action, (len(self.nvec),))
        return jnp.concatenate([jax.nn.one_hot(action[i], n) for i, n in enumerate(self.nvec)])


def _sum(terms: list[Float[Array, ""]]) -> Float[Array, ""]:
    return jnp.stack(terms).sum()
