"""The leaves of a tree in few arrays: a call of a compiled program costs more with every argument and result."""

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

#: Leaves start at multiples of this many numbers, so that a matrix product can read them in place.
_ALIGNMENT = 64


class PackedTree(NamedTuple):
    """A tree's leaves: small float32 leaves in one vector, the others as they are."""

    packed: Float[Array, " n"]
    others: tuple[Array, ...]


class TreePacker:
    """Packs trees of the same structure, shapes and types."""

    def __init__(self, like: Any, largest: float = float("inf")) -> None:
        leaves, self._structure = jax.tree.flatten(like)
        self._shapes = [leaf.shape for leaf in leaves]
        self._is_packed = [leaf.dtype == jnp.float32 and prod(leaf.shape) <= largest for leaf in leaves]
        sizes = [
            -(-prod(leaf.shape) // _ALIGNMENT) * _ALIGNMENT * is_packed
            for leaf, is_packed in zip(leaves, self._is_packed, strict=True)
        ]
        self._offsets = [0, *accumulate(sizes)]

    def pack(self, tree: Any) -> PackedTree:
        leaves = jax.tree.leaves(tree)
        packed = [self._padded(leaf, place) for place, leaf in enumerate(leaves) if self._is_packed[place]]
        others = tuple(leaf for leaf, is_packed in zip(leaves, self._is_packed, strict=True) if not is_packed)
        return PackedTree(jnp.concatenate(packed) if packed else jnp.zeros(0), others)

    def _padded(self, leaf: Array, place: int) -> Array:
        return jnp.pad(leaf.ravel(), (0, self._offsets[place + 1] - self._offsets[place] - leaf.size))

    def unpack(self, packed: PackedTree) -> Any:
        others = iter(packed.others)
        leaves = [
            self._leaf(packed.packed, place) if is_packed else next(others)
            for place, is_packed in enumerate(self._is_packed)
        ]
        return jax.tree.unflatten(self._structure, leaves)

    def _leaf(self, packed: Array, place: int) -> Array:
        shape, begin = self._shapes[place], self._offsets[place]
        return packed[begin : begin + prod(shape)].reshape(shape)


def map_inside(function: Callable[[Any], Any], kind: type, tree: Any) -> Any:
    """Apply a function to every node of one type in a tree; everything else stays as it is."""

    def found(node: Any) -> bool:
        return isinstance(node, kind)

    return jax.tree.map(lambda node: function(node) if found(node) else node, tree, is_leaf=found)
