"""A memory of fixed size that holds a weighted random sample of all visits so far.

Every visit gets the key ``log(u) / w`` with u uniform in (0, 1) and its weight w, and the memory holds the visits with
the largest keys (A-Res, Efraimidis & Spirakis, 2006, https://doi.org/10.1016/j.ipl.2005.11.003). With the largest key
that was not kept, kappa, a visit of weight w is kept with probability ``1 - exp(kappa w)``: each kept visit stands for
the inverse of that many visits, so sums over all visits are estimated without bias (Cohen & Kaplan, 2007,
https://doi.org/10.1145/1281100.1281133).

Axes: M visits of the memory, K new visits, R visits whose weights are lowered, P visits drawn from the memory.
"""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree


class Memory(eqx.Module):
    """The visits with the largest keys of all visits so far."""

    visits: PyTree  # arrays (M, ...)
    weights: Float[Array, " M"]
    keys: Float[Array, " M"]  # minus infinity where nothing is kept
    threshold: Float[Array, ""]  # kappa, the largest key that was not kept
    turn: Int[Array, ""]  # place whose weight was given longest ago

    @classmethod
    def empty(cls, size: int, visit: PyTree, threshold: float = -jnp.inf) -> "Memory":
        """A memory without visits. Keys up to the threshold are never kept, even where there is room."""
        visits = jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape), leaf.dtype), visit)
        return cls(
            visits,
            jnp.ones(size),
            jnp.full(size, -jnp.inf),
            jnp.array(threshold, jnp.float32),
            jnp.zeros((), jnp.int32),
        )

    @property
    def filled(self) -> Float[Array, ""]:
        return jnp.isfinite(self.keys).sum().astype(jnp.float32)

    @property
    def kept(self) -> Float[Array, " M"]:
        """Probability with which a visit of the weight of each kept one is kept: 1 as long as all are."""
        return -jnp.expm1(self.threshold * self.weights)

    def insert(self, key: PRNGKeyArray, visits: PyTree, weights: Float[Array, " K"]) -> "Memory":
        """The memory after further visits. Only the places of visits that give way are written to."""
        return self.merge(visits, weights, -jax.random.exponential(key, weights.shape) / weights)

    def merge(self, visits: PyTree, weights: Float[Array, " K"], keys: Float[Array, " K"]) -> "Memory":
        size, count = len(self.keys), min(len(self.keys), len(keys))
        # The largest new key against the smallest kept one, and so on: whoever loses a pair is not among the largest.
        best, new = jax.lax.top_k(keys, len(keys))
        worst, place = jax.lax.top_k(-self.keys, count)
        # A place may be free although visits were refused before, so the threshold is a competitor as well.
        wins = best[:count] > jnp.maximum(-worst, self.threshold)
        lost = jnp.concatenate([jnp.minimum(best[:count], -worst), best[count:]])
        place, new = jnp.where(wins, place, size), new[:count]

        def write(kept: Array, given: Array) -> Array:
            return kept.at[place].set(given[new].astype(kept.dtype), mode="drop")

        return replace(
            self,
            visits=jax.tree.map(write, self.visits, visits),
            weights=write(self.weights, weights),
            keys=write(self.keys, keys),
            threshold=jnp.maximum(self.threshold, lost.max()),
        )

    def oldest(self, count: int) -> Int[Array, " R"]:
        """The places whose weights were given longest ago, in turn."""
        return (self.turn + jnp.arange(count)) % len(self.keys)

    def lower(self, weights: Float[Array, " R"]) -> "Memory":
        """The memory if the visits at the oldest places had had these weights, where they are lower than before.

        It is the memory that the lower weights would have led to from the beginning: the key of a visit becomes what
        the same u gives, and visits whose key is then below the largest one that was not kept are forgotten.
        """
        places, size = self.oldest(len(weights)), len(self.keys)
        lower = jnp.minimum(weights, self.weights[places])
        keys = self.keys[places] * self.weights[places] / lower
        return replace(
            self,
            weights=self.weights.at[places].set(lower),
            keys=self.keys.at[places].set(jnp.where(keys > self.threshold, keys, -jnp.inf)),
            turn=(self.turn + len(weights)) % size,
        )

    def draw(self, key: PRNGKeyArray, count: int) -> tuple[Any, Float[Array, " P"], Float[Array, " P"]]:
        """Draw visits with probability proportional to their weights and to how many visits they stand for."""
        shares = jnp.where(jnp.isfinite(self.keys), self.weights / self.kept, 0.0)
        ends = jnp.cumsum(shares)
        at = ends[-1] * jax.random.uniform(key, (count,))  # never the end itself
        drawn = jnp.searchsorted(ends, at, side="right", method="scan_unrolled")
        visits = jax.tree.map(lambda leaf: leaf[drawn], self.visits)
        return visits, self.weights[drawn], self.kept[drawn]
