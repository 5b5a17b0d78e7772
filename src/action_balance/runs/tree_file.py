"""A tree of arrays as plain NumPy arrays by path, with a table of what they are; and back, bit for bit."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.files import Data, reason
from action_balance.runs.array_file import DamagedArrays

#: The type of leaves that hold no data, such as an activation function: they are not saved.
NO_DATA = "no data"


class OtherTree(Exception):
    """Arrays of another tree than the one that is wanted; the message has the first difference."""


@dataclass(frozen=True)
class Leaf:
    """What a leaf of a tree is."""

    path: str  # its place in the tree, e.g. ``.policy.layers[0].weight``
    dtype: str  # of NumPy; ``key<...>`` for PRNG keys; ``int``, ``float`` or ``bool`` for Python's own numbers
    shape: tuple[int, ...]
    key_impl: str | None = None  # the generator that a PRNG key belongs to

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape) if self.shape else ''}"


def as_data(table: Sequence[Leaf]) -> list[Data]:
    return [asdict(leaf) for leaf in table]


def from_data(table: Any) -> list[Leaf]:
    """A table from plain data; a `DamagedArrays` if they are something else."""
    try:
        leaves = [Leaf(**{**one, "shape": tuple(one["shape"])}) for one in table]
    except (KeyError, TypeError):
        raise DamagedArrays("its table is damaged") from None
    for leaf in leaves:
        texts = isinstance(leaf.path, str) and isinstance(leaf.dtype, str) and isinstance(leaf.key_impl, str | None)
        if not texts or not all(type(size) is int and size >= 0 for size in leaf.shape):
            raise DamagedArrays("its table is damaged")
    return leaves


def describe(tree: Any) -> list[Leaf]:
    """The leaves of a tree, in order; they may be arrays or ``jax.ShapeDtypeStruct``."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [_describe(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]


def _describe(path: str, leaf: Any) -> Leaf:
    if isinstance(leaf, (bool, int, float)):
        return Leaf(path, type(leaf).__name__, ())
    if not isinstance(leaf, (jax.Array, np.ndarray, np.generic, jax.ShapeDtypeStruct)):
        return Leaf(path, NO_DATA, ())
    if _is_key(leaf):
        impl = str(jax.random.key_impl(leaf)) if isinstance(leaf, jax.Array) else None
        return Leaf(path, str(leaf.dtype), leaf.shape, impl)
    return Leaf(path, leaf.dtype.name, leaf.shape)


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def to_arrays(tree: Any) -> dict[str, np.ndarray]:
    """The leaves that hold data, by path; a PRNG key is its numbers."""

    def array(leaf: Any) -> np.ndarray:
        return np.asarray(jax.random.key_data(leaf) if isinstance(leaf, jax.Array) and _is_key(leaf) else leaf)

    leaves = zip(describe(tree), jax.tree.leaves(tree), strict=True)
    return {what.path: array(leaf) for what, leaf in leaves if what.dtype != NO_DATA}


def to_tree(arrays: Mapping[str, np.ndarray], table: Sequence[Leaf], like: Any) -> Any:
    """The inverse of `to_arrays`: a tree like another one, whose leaves may be ``jax.ShapeDtypeStruct``.

    An `OtherTree` if the table is not that of such a tree, a `DamagedArrays` if the arrays are not those of the table.
    """
    leaves = {what.path: what for what in table}
    _compare(leaves, {what.path: what for what in describe(like)})

    def restore(path: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(path)
        if leaves[name].dtype == NO_DATA:
            return leaf
        try:
            return _like(arrays[name], leaf, leaves[name])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise DamagedArrays(f"{name} has changed since it was written: {reason(error)}") from None

    return jax.tree_util.tree_map_with_path(restore, like)


def _compare(found: Mapping[str, Leaf], expected: Mapping[str, Leaf]) -> None:
    for path in dict.fromkeys([*expected, *found]):
        if path not in found:
            raise OtherTree(f"{path} is missing from it")
        if path not in expected:
            raise OtherTree(f"{path} exists only in it")
        if str(found[path]) != str(expected[path]):
            raise OtherTree(f"{path} is {found[path]} in it but {expected[path]} here")


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
