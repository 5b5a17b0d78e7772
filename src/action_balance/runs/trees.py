"""A pytree as plain NumPy arrays by path, with a table that describes them; and back, bit for bit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.files import reason
from action_balance.runs.array_file import DamagedArrays
from action_balance.runs.leaves import NO_DATA, Leaf


@dataclass(frozen=True)
class HostCopy:
    """A tree that was copied to the memory of the host, in which no program changes it."""

    table: list[Leaf]
    """What its leaves are."""
    arrays: dict[str, np.ndarray]
    """Those that hold data, by path."""


def host_copy(tree: Any) -> HostCopy:
    """Copy a tree."""
    table, leaves = describe(tree), jax.tree.leaves(tree)
    shared = {what.path for what, leaf in zip(table, leaves, strict=True) if _is_on_host(leaf)}
    return HostCopy(table, {path: array.copy() if path in shared else array for path, array in to_arrays(tree).items()})


def size(tree: Any) -> int:
    """Bytes of the arrays of a tree."""
    return sum(leaf.nbytes for leaf in jax.tree.leaves(tree) if isinstance(leaf, (jax.Array, np.ndarray)))


def _is_on_host(leaf: Any) -> bool:
    """Whether a NumPy array of a leaf may be its own memory; from other devices it is a copy already."""
    return not isinstance(leaf, jax.Array) or any(device.platform == "cpu" for device in leaf.devices())


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _describe(path: str, leaf: Any) -> Leaf:
    if isinstance(leaf, (bool, int, float)):
        return Leaf(path, type(leaf).__name__, ())
    if not isinstance(leaf, (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)):
        return Leaf(path, NO_DATA, ())
    if _is_key(leaf):
        impl = str(jax.random.key_impl(leaf)) if isinstance(leaf, jax.Array) else None
        return Leaf(path, str(leaf.dtype), leaf.shape, impl)
    return Leaf(path, leaf.dtype.name, leaf.shape)


def describe(tree: Any) -> list[Leaf]:
    """The leaves of a tree, in order; they may be arrays or ``jax.ShapeDtypeStruct``."""
    if isinstance(tree, HostCopy):
        return tree.table
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [_describe(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]


def to_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The leaves that hold data, by path; a PRNG key is its numbers."""
    if isinstance(tree, HostCopy):
        return tree.arrays

    def array(leaf: Any) -> np.ndarray:
        return np.asarray(jax.random.key_data(leaf) if isinstance(leaf, jax.Array) and _is_key(leaf) else leaf)

    leaves = zip(describe(tree), jax.tree.leaves(tree), strict=True)
    return {what.path: array(leaf) for what, leaf in leaves if what.dtype != NO_DATA}


def _like(array: np.ndarray, leaf: Any, what: Leaf) -> Any:
    """The array as the kind of thing that ``leaf`` is; a ``ValueError`` if it is not what the table says."""
    if isinstance(leaf, (bool, int, float)):
        return type(leaf)(array.item())
    if what.key_impl is None and array.dtype.name != what.dtype:
        if (array.dtype.kind, jnp.dtype(what.dtype).kind) != ("u", "V"):
            raise ValueError(f"its array is {array.dtype.name}")
        array = array.view(jnp.dtype(what.dtype))  # NumPy itself does not know this type
    if what.key_impl is None and array.shape != what.shape:
        raise ValueError(f"its array has the shape {array.shape}")
    if isinstance(leaf, np.generic):
        return array[()]
    if isinstance(leaf, np.ndarray):
        return array
    # A copy, because a program may reuse the memory of its state; `jnp.array` would compile a program for each shape.
    value = jax.device_put(array.copy())
    if what.key_impl is not None:
        value = jax.random.wrap_key_data(value, impl=what.key_impl)
        if (str(value.dtype), value.shape) != (what.dtype, what.shape):
            raise ValueError("its random keys are of another kind")
    if isinstance(leaf, jax.Array) and leaf.committed:
        value = jax.device_put(value, leaf.sharding)
    return value


def to_tree(arrays: Mapping[str, np.ndarray], table: Sequence[Leaf], like: Any) -> Any:
    """The inverse of `to_arrays`."""
    leaves = {what.path: what for what in table}

    def restore(path: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(path)
        if leaves[name].dtype == NO_DATA:
            return leaf
        try:
            return _like(arrays[name], leaf, leaves[name])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DamagedArrays(f"{name} has changed since it was written: {reason(error)}") from None

    return jax.tree_util.tree_map_with_path(restore, like)
