"""Linear layers with orthogonal weights, with and without an action that joins their input."""

import equinox as eqx
import jax
import jax.numpy as jnp


def orthogonal(rows: int, columns: int, key: jax.Array) -> jax.Array:
    """A random matrix with orthogonal rows or columns of length 1, whichever are fewer (Saxe et al., 2014).

    It is the orthogonal factor of a Gaussian matrix, to which ``X (3 - X' X) / 2`` converges (Newton and Schulz):
    products only, for any number of seeds at once. The QR of LAPACK stalls for a minute where its threads have to wait
    for cores."""
    # Its singular values begin below 1 or little above; the smallest grow by half in each of the steps.
    drawn = jax.random.normal(key, (rows, columns)) / (rows**0.5 + columns**0.5)
    tall = drawn if rows >= columns else drawn.T

    def step(_: int, x: jax.Array) -> jax.Array:
        return 1.5 * x - 0.5 * x @ (x.T @ x)

    with jax.default_matmul_precision("highest"):
        tall = jax.lax.fori_loop(0, _steps(*tall.shape), step, tall)
    return tall if rows >= columns else tall.T


def _steps(rows: int, columns: int) -> int:
    """Enough for a tall matrix. A large one that is far from square has no small singular values, and few are."""
    return 50 if rows < 1024 or rows < 4 * columns else 15


class Linear(eqx.Module):
    """``W x + b``; with actions, ``W [x, one-hot(a)] + b``, kept as two matrices so that W x is computed once."""

    weight: jax.Array  # (out, in)
    bias: jax.Array  # (out,)
    action_weight: jax.Array | None  # (A, out)

    def __init__(self, inputs: int, outputs: int, *, gain: float, key: jax.Array, actions: int = 0) -> None:
        joint = gain * orthogonal(outputs, inputs + actions, key)
        self.weight = joint[:, :inputs]
        self.action_weight = joint[:, inputs:].T if actions else None
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: jax.Array, action: jax.Array | None = None) -> jax.Array:
        """Output for one input, (in,) -> (out,), and one action where the layer knows actions."""
        y = self.weight @ x + self.bias
        if self.action_weight is None:
            if action is not None:
                raise TypeError("this layer knows no actions")
            return y
        if action is None:
            raise TypeError("this layer needs an action")
        # A product, though it only picks a row: the gradient of picking is a sum that devices do one sample at a time.
        return y + jax.nn.one_hot(action, len(self.action_weight)) @ self.action_weight

    def all_actions(self, x: jax.Array) -> jax.Array:
        """Outputs for all actions: of one input that they share, (in,), or of one for each, (A, in); -> (A, out)."""
        if self.action_weight is None:
            raise TypeError("this layer knows no actions")
        return x @ self.weight.T + self.bias + self.action_weight
