"""Linear layers with orthogonal weights, with and without an action that joins their input."""

import equinox as eqx
import jax
import jax.numpy as jnp


class Linear(eqx.Module):
    """``W x + b``; with actions, ``W [x, one-hot(a)] + b``, kept as two matrices so that W x is computed once."""

    weight: jax.Array  # (out, in)
    bias: jax.Array  # (out,)
    action_weight: jax.Array | None  # (A, out)

    def __init__(self, inputs: int, outputs: int, *, gain: float, key: jax.Array, actions: int = 0) -> None:
        joint = jax.nn.initializers.orthogonal(gain)(key, (outputs, inputs + actions))
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
        return y + self.action_weight[action]

    def all_actions(self, x: jax.Array) -> jax.Array:
        """Outputs for all actions: of one input that they share, (in,), or of one for each, (A, in); -> (A, out)."""
        if self.action_weight is None:
            raise TypeError("this layer knows no actions")
        return x @ self.weight.T + self.bias + self.action_weight
