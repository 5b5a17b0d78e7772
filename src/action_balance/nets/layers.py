"""Linear layers with orthogonal weights, optionally with an action as a further input. Axes: A actions."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, Real

#: Gain of the weights of layers before a ReLU.
GAIN = 2**0.5


@partial(jax.jit, static_argnums=(0, 1))  # layers of the same size are traced once
def orthogonal(rows: int, columns: int, key: PRNGKeyArray) -> Float[Array, "rows columns"]:
    """A random matrix with orthonormal rows or columns, whichever are fewer (Saxe et al., 2014).

    It is the orthogonal factor of a Gaussian matrix, computed by the Newton-Schulz iteration ``X (3 - X' X) / 2``:
    products only, for any number of seeds at once. LAPACK's QR stalls for a minute when its threads compete for
    cores.
    """
    # The singular values start below 1 or slightly above; each step increases the smallest by half.
    drawn = jax.random.normal(key, (rows, columns)) / (rows**0.5 + columns**0.5)
    tall = drawn if rows >= columns else drawn.T

    def step(_: Int[Array, ""], x: Array) -> Array:
        return 1.5 * x - 0.5 * x @ (x.T @ x)

    with jax.default_matmul_precision("highest"):
        tall = jax.lax.fori_loop(0, _steps(*tall.shape), step, tall)
    return tall if rows >= columns else tall.T


def _steps(rows: int, columns: int) -> int:
    """Steps until a tall matrix has converged: few where it is large and far from square."""
    return 50 if rows < 1024 or rows < 4 * columns else 15


class Linear(eqx.Module):
    """``W x + b``; with actions, ``W [x, a] + b`` of an action as a vector, or by its index one-hot, stored as two
    matrices so that W x is computed once."""

    weight: Float[Array, "out in"]
    bias: Float[Array, " out"]
    action_weight: Float[Array, "A out"] | None

    def __init__(self, inputs: int, outputs: int, *, gain: float, key: PRNGKeyArray, actions: int = 0) -> None:
        joint = gain * orthogonal(outputs, inputs + actions, key)
        self.weight = joint[:, :inputs]
        self.action_weight = joint[:, inputs:].T if actions else None
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Float[Array, " in"], action: Real[Array, "..."] | None = None) -> Float[Array, " out"]:
        y = self.weight @ x + self.bias
        if self.action_weight is None:
            if action is not None:
                raise TypeError("this layer has no actions")
            return y
        if action is None:
            raise TypeError("this layer needs an action")
        # A product rather than indexing: the gradient of indexing is a scatter, which devices add one sample at a time.
        vector = action if action.ndim else jax.nn.one_hot(action, len(self.action_weight))
        return y + vector @ self.action_weight

    def all_actions(self, x: Float[Array, " in"] | Float[Array, "A in"]) -> Float[Array, "A out"]:
        if self.action_weight is None:
            raise TypeError("this layer has no actions")
        return x @ self.weight.T + self.bias + self.action_weight


def layer_norm(x: Float[Array, "*s F"]) -> Float[Array, "*s F"]:
    """Features with mean 0 and variance 1 over the last axis (Ba et al., 2016, https://arxiv.org/abs/1607.06450); scale
    and offset are left to the next layer."""
    shares = jnp.full(x.shape[-1], 1 / x.shape[-1], x.dtype)  # means as products: faster on a CPU than reductions
    centred = x - (x @ shares)[..., None]
    return centred * jax.lax.rsqrt((centred**2 @ shares)[..., None] + 1e-6)


def normalizing(nonlinear: Callable[[Array], Array], norm: bool) -> Callable[[Array], Array]:
    """A nonlinearity, after `layer_norm` with ``norm``."""
    return (lambda x: nonlinear(layer_norm(x))) if norm else nonlinear


def make_layers(widths: Sequence[int], key: PRNGKeyArray, actions: int = 0) -> list[Linear]:
    keys = jax.random.split(key, len(widths) - 1)
    return [
        Linear(inputs, outputs, gain=GAIN, actions=actions, key=k)
        for (inputs, outputs), k in zip(pairwise(widths), keys, strict=True)
    ]
