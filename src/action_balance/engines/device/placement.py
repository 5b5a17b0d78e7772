"""Values on devices, also on those of other processes."""

from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree


def put(tree: PyTree, shardings: PyTree) -> PyTree:
    """Move values to devices."""
    return jax.tree.map(lambda sharding, part: jax.tree.map(lambda leaf: _put(leaf, sharding), part), shardings, tree)


def _put(leaf: Any, sharding: NamedSharding) -> jax.Array:
    if sharding.is_fully_addressable:
        placed: jax.Array = jax.device_put(leaf, sharding)
        return placed
    if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(_put(jax.random.key_data(leaf), sharding), impl=jax.random.key_impl(leaf))
    whole = np.asarray(leaf)
    return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])


def gather(tree: PyTree) -> PyTree:
    """Whole values on this process."""
    return jax.tree.map(_gather, tree)


def _gather(leaf: Any) -> Any:
    if not isinstance(leaf, jax.Array) or leaf.is_fully_addressable:
        return leaf
    if isinstance(leaf.sharding, NamedSharding) and not leaf.is_fully_replicated:
        leaf = _everywhere(leaf.sharding.mesh)(leaf)
    return leaf.addressable_data(0)


@cache
def _everywhere(mesh: Mesh) -> Callable[[jax.Array], jax.Array]:
    """The program that gives every device the whole of an array."""
    return jax.jit(lambda leaf: leaf, out_shardings=NamedSharding(mesh, PartitionSpec()))
