"""The leaves of a tree in few arrays: asking a device for a program takes longer with every argument and result."""

from collections.abc import Callable
from itertools import accumulate
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

#: Numbers that a leaf's place is a multiple of, so that a product of matrices can take it from there.
_STEP = 64


class PackedTree(NamedTuple):
    """A tree's leaves: those that are together, and the others as they are."""

    together: jax.Array  # (n,)
    others: tuple[jax.Array, ...]


class TreePacker:
    """Bundles trees of one kind: same structure, shapes and types."""

    def __init__(self, like: Any, largest: float = float("inf")) -> None:
        """Nothing is bundled yet.

        Args:
            like: such a tree, or the shapes of one.
            largest: numbers of a leaf, above which it stays by itself.
        """
        leaves, self._structure = jax.tree.flatten(like)
        self._shapes = [leaf.shape for leaf in leaves]
        self._joins = [leaf.dtype == jnp.float32 and prod(leaf.shape) <= largest for leaf in leaves]
        sizes = [-(-prod(leaf.shape) // _STEP) * _STEP * joins for leaf, joins in zip(leaves, self._joins, strict=True)]
        self._places = [0, *accumulate(sizes)]

    def pack(self, tree: Any) -> PackedTree:
        """The leaves of a tree."""
        leaves = jax.tree.leaves(tree)
        joined = [self._filled(leaf, place) for place, leaf in enumerate(leaves) if self._joins[place]]
        others = tuple(leaf for leaf, joins in zip(leaves, self._joins, strict=True) if not joins)
        return PackedTree(jnp.concatenate(joined) if joined else jnp.zeros(0), others)

    def _filled(self, leaf: jax.Array, place: int) -> jax.Array:
        """A leaf as a vector that is as long as its place."""
        return jnp.pad(leaf.ravel(), (0, self._places[place + 1] - self._places[place] - leaf.size))

    def unpack(self, pack: PackedTree) -> Any:
        """The tree again."""
        others = iter(pack.others)
        leaves = [
            self._leaf(pack.together, place) if joins else next(others) for place, joins in enumerate(self._joins)
        ]
        return jax.tree.unflatten(self._structure, leaves)

    def _leaf(self, together: jax.Array, place: int) -> jax.Array:
        shape, begin = self._shapes[place], self._places[place]
        return together[begin : begin + prod(shape)].reshape(shape)


def inside(change: Callable[[Any], Any], kind: type, tree: Any) -> Any:
    """A tree in which whatever is of a kind is changed, and all else is as it was."""

    def found(node: Any) -> bool:
        return isinstance(node, kind)

    return jax.tree.map(lambda node: change(node) if found(node) else node, tree, is_leaf=found)
