"""Elliptical counts: how much a direction has varied among the features of all visits.

The visits are kept as a root S of the inverse of ``C = ridge I + sum_i phi_i phi_i'``, with ``S S' = C^-1``. In
float32, C^-1 itself would lose the directions that were visited often to rounding errors; its root keeps them. All
functions use matrix products only, because batched LAPACK calls within a program hang on small CPUs.

Axes: D features, B visits.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

#: Size up to which a matrix is made orthogonal column by column; larger ones are divided.
SMALL = 64


def empty_root(features: int, ridge: float) -> Float[Array, "D D"]:
    """The root before the first visit, where ``C = ridge I``.

    Args:
        features: D.
        ridge: Visits of every direction to begin with.

    Returns:
        S.
    """
    return jnp.eye(features) / ridge**0.5


def add_visit(root: Float[Array, "D D"], features: Float[Array, " D"]) -> tuple[Float[Array, "D D"], Float[Array, ""]]:
    """The width ``phi' C^-1 phi`` of a visit, and a root of the inverse of ``C + phi phi'``.

    With ``a = S' phi``, the width is ``b = a' a``, and the new root is ``S - S a a' / (1 + b + sqrt(1 + b))``: Potter's
    form of the Sherman-Morrison formula (Kaminski et al., 1971, https://doi.org/10.1109/TAC.1971.1099816).

    Args:
        root: S.
        features: phi.

    Returns:
        The new root, and the width before the visit.
    """
    with jax.default_matmul_precision("highest"):
        inner = root.T @ features
        width = inner @ inner
        direction = root @ inner
    return root - jnp.outer(direction, inner) / (1 + width + jnp.sqrt(1 + width)), width


def widths(root: Float[Array, "D D"], features: Float[Array, "B D"]) -> tuple[Float[Array, " B"], Float[Array, "B D"]]:
    """The widths ``phi' C^-1 phi`` of visits.

    Args:
        root: S.
        features: phi of every visit.

    Returns:
        The widths, and ``S' phi``, of whose squares they are the sums.
    """
    with jax.default_matmul_precision("highest"):
        inner = features @ root
    return (inner**2).sum(axis=-1), inner


def add_visits(root: Float[Array, "D D"], inner: Float[Array, "B D"]) -> Float[Array, "D D"]:
    """A root of the inverse of ``C + sum_i phi_i phi_i'``, from ``a_i = S' phi_i``.

    With ``B = I + sum_i a_i a_i'``, that inverse is ``S B^-1 S'``, so S is multiplied by a root of ``B^-1``.

    Args:
        root: S.
        inner: The second result of `widths`; zero for what does not count.

    Returns:
        The new root.
    """
    with jax.default_matmul_precision("highest"):
        return root @ inverse_root(jnp.eye(len(root)) + inner.T @ inner)


def inverse_root(matrix: Float[Array, "D D"]) -> Float[Array, "D D"]:
    """A root M of the inverse of a symmetric matrix B whose eigenvalues are 1 or more: ``M M' = B^-1``.

    By halves: with roots ``X`` of the inverse of the first block and ``Y`` of that of its Schur complement, and
    ``W = X' B_12``, it is ``[[X, -X W Y], [0, Y]]``.
    """
    size = len(matrix)
    if size <= SMALL:
        return _conjugate(matrix)
    half = size // 2
    first = inverse_root(matrix[:half, :half])
    across = first.T @ matrix[:half, half:]
    second = inverse_root(matrix[half:, half:] - across.T @ across)
    return jnp.block([[first, -first @ across @ second], [jnp.zeros((size - half, half)), second]])


def _conjugate(matrix: Float[Array, "D D"]) -> Float[Array, "D D"]:
    """`inverse_root` by Gram-Schmidt: the unit vectors made orthonormal in the inner product ``x' B y``."""
    places = jnp.arange(len(matrix))

    def column(place: Int[Array, ""], vectors: Array) -> Array:
        one = vectors[:, place]
        image = matrix @ one
        scale = jax.lax.rsqrt(one @ image)
        one, image = one * scale, image * scale
        shares = jnp.where(places > place, image @ vectors, 0.0)
        return (vectors - jnp.outer(one, shares)).at[:, place].set(one)

    found: Array = jax.lax.fori_loop(0, len(matrix), column, jnp.eye(len(matrix)))
    return found
