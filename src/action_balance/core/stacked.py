"""Trees of arrays that are stacked along a leading axis, such as the states of several seeds.

Each function is one program for all arrays of a tree: one for each array would take a second or more to compile.
Axis: S trees.
"""

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree


@jax.jit
def take(tree: PyTree, index: int | Int[Array, "..."]) -> PyTree:
    """Elements of all arrays.

    Args:
        tree: Arrays, (S, ...).
        index: The number of an element, or several.

    Returns:
        Copies of the elements, with the axes of the index in place of S.
    """
    return jax.tree.map(lambda leaf: leaf[index], tree)


@partial(jax.jit, static_argnums=1)
def first(tree: PyTree, count: int) -> PyTree:
    """The first elements of all arrays.

    Args:
        tree: Arrays, (S, ...).
        count: Their number.

    Returns:
        The elements.
    """
    return jax.tree.map(lambda leaf: leaf[:count], tree)


@jax.jit
def stack(trees: Sequence[PyTree]) -> PyTree:
    """Several trees as one.

    Args:
        trees: Trees of the same structure.

    Returns:
        Arrays, (S, ...).
    """
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)
