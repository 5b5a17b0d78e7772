"""Perlin noise, of which Craftax makes its worlds, in a form that compilers do not confuse.

For CPUs, XLA (of JAX 0.10.2) compiles Craftax's own function wrongly: in a batch, its fused sums of products use the
gradients of another member, so that every eighth world has the same mountains and lakes. That does not happen with
``XLA_FLAGS=--xla_cpu_experimental_ynn_fusion_type=``, nor here, where the two products of each corner are added without
a sum over an axis. Axes: H, W cells of the map.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray


def perlin_noise(
    rng: PRNGKeyArray,
    shape: tuple[int, int],
    res: tuple[int, int],
    interpolant: Callable[[Array], Array],
    override_angles: Float[Array, "rows columns"] | None = None,
) -> Float[Array, "H W"]:
    """Gradient noise (Perlin, 1985, https://doi.org/10.1145/325165.325247); the arguments are those of Craftax."""
    rows, columns = res
    turns = override_angles
    if turns is None:
        turns = jax.random.uniform(jax.random.split(rng)[1], (rows + 1, columns + 1))
    gradients = jnp.cos(2 * jnp.pi * turns), jnp.sin(2 * jnp.pi * turns)
    y = (jnp.arange(shape[0]) * (rows / shape[0]) % 1)[:, None]
    x = (jnp.arange(shape[1]) * (columns / shape[1]) % 1)[None]

    def corner(down: int, right: int) -> Array:
        """The noise that one corner of every square would make alone."""
        along_y, along_x = (
            jnp.repeat(jnp.repeat(part[down:, right:][:rows, :columns], shape[0] // rows, 0), shape[1] // columns, 1)
            for part in gradients
        )
        return (y - down) * along_y + (x - right) * along_x

    below, beside = interpolant(y), interpolant(x)
    left = (1 - below) * corner(0, 0) + below * corner(1, 0)
    right = (1 - below) * corner(0, 1) + below * corner(1, 1)
    return jnp.sqrt(2) * ((1 - beside) * left + beside * right)
