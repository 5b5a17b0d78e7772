"""Copies of trees, in the memory of the host, in which no program changes them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

HostCopy = Any


def host_copy(tree: Any) -> HostCopy:
    """Copy a tree."""

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, (jax.Array, np.ndarray)):
            return leaf
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.wrap_key_data(jnp.array(jax.random.key_data(leaf)), impl=str(jax.random.key_impl(leaf)))
        return np.array(leaf)

    return jax.tree.map(copy, tree)


def size(tree: Any) -> int:
    """Bytes of the arrays of a tree."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree) if isinstance(leaf, (jax.Array, np.ndarray)))
