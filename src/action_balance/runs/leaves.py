"""A pytree as a list of plain NumPy arrays and a table of what they were, and back, bit for bit."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

#: For leaves that are no data, such as an activation function: not saved, taken from the tree restored into.
NO_DATA = "no data"


@dataclass(frozen=True)
class Leaf:
    """What a leaf of a pytree is."""

    path: str
    """Where in the tree, e.g. ``.actor.layers[0].weight``."""
    dtype: str
    """The name of the NumPy dtype; ``key<...>`` for PRNG keys; ``int``, ``float``, ``bool`` for Python's own."""
    shape: tuple[int, ...]
    key_impl: str | None = None
    """The generator that a PRNG key is for."""

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape) if self.shape else ''}"

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "Leaf":
        """From plain data."""
        return cls(**{**data, "shape": tuple(data["shape"])})


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
    """What the leaves of a tree are, in order; leaves may be arrays or ``jax.ShapeDtypeStruct``."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [_describe(jax.tree_util.keystr(path), leaf) for path, leaf in leaves]


def has_bytes(leaf: Leaf) -> bool:
    """Whether there is something to save: Orbax takes no empty arrays."""
    return leaf.dtype != NO_DATA and 0 not in leaf.shape


def _to_numpy(leaf: Any) -> np.ndarray:
    if isinstance(leaf, jax.Array) and _is_key(leaf):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


def to_arrays(tree: Any) -> list[np.ndarray]:
    """The leaves that have bytes, in order."""
    return [
        _to_numpy(leaf) for leaf, what in zip(jax.tree.leaves(tree), describe(tree), strict=True) if has_bytes(what)
    ]


def difference(found: Sequence[Leaf], expected: Sequence[Leaf]) -> str | None:
    """The first leaf that is not the same in both; None where all are."""
    here = {leaf.path: leaf for leaf in expected}
    there = {leaf.path: leaf for leaf in found}
    for path in [*here, *(path for path in there if path not in here)]:
        if path not in there:
            return f"{path} is not in it"
        if path not in here:
            return f"{path} is only in it"
        if (here[path].dtype, here[path].shape) != (there[path].dtype, there[path].shape):
            return f"{path} is {there[path]} in it, {here[path]} here"
    return None


def _like(array: np.ndarray, leaf: Any, what: Leaf) -> Any:
    """``array`` as the kind of thing that ``leaf`` is."""
    if isinstance(leaf, (bool, int, float)):
        return type(leaf)(array.item())
    if isinstance(leaf, np.generic):
        return array[()]
    if isinstance(leaf, np.ndarray):
        return array
    # A copy, because the program may reuse the memory of its state.
    value = jnp.array(array)
    if what.key_impl is not None:
        value = jax.random.wrap_key_data(value, impl=what.key_impl)
    if isinstance(leaf, jax.Array) and leaf.committed:
        value = jax.device_put(value, leaf.sharding)
    return value


def to_tree(arrays: Sequence[np.ndarray], found: Sequence[Leaf], like: Any) -> Any:
    """The inverse of `to_arrays`.

    Args:
        arrays: those that have bytes, in order.
        found: the table of what they were, without `difference` to that of ``like``.
        like: a tree of the same structure. Every leaf becomes what it is there: JAX or NumPy array, number, key.
    """
    # By path, because a later version may have the same leaves in another order.
    table = {what.path: what for what in found}
    saved = dict(zip([what.path for what in found if has_bytes(what)], arrays, strict=True))

    def restore(path: Any, leaf: Any) -> Any:
        what = table[jax.tree_util.keystr(path)]
        if what.path in saved:
            return _like(saved[what.path], leaf, what)
        if isinstance(leaf, jax.ShapeDtypeStruct):
            return jnp.empty(leaf.shape, leaf.dtype)
        return leaf

    return jax.tree_util.tree_map_with_path(restore, like)
