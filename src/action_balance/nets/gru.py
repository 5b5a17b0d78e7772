"""A gated recurrent unit with orthogonal weights. Axes: P cells side by side, I inputs and U units of each."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.nets.layers import orthogonal


class GRU(eqx.Module):
    """The gated recurrent unit of Cho et al. (2014, https://arxiv.org/abs/1406.1078), P cells that share nothing.

    With the input x and the state h: ``r = sigmoid(W_r x + U_r h + b_r)``, ``z = sigmoid(W_z x + U_z h + b_z)``,
    ``n = tanh(W_n x + b_n + r * (U_n h + c))``, and the next state is ``(1 - z) * n + z * h``. The part with x does not
    depend on h, so that `project` computes it for a whole sequence at once.

    Products use full float32, as in the policy: acting and learning compute the same numbers.
    """

    input_weight: Float[Array, "P gates I"]  # W_r, W_z and W_n
    hidden_weight: Float[Array, "P gates U"]  # U_r, U_z and U_n
    bias: Float[Array, "P gates"]  # b_r, b_z and b_n
    hidden_bias: Float[Array, "P U"]  # c

    def __init__(self, inputs: int, units: int, *, cells: int = 1, key: PRNGKeyArray) -> None:
        input_key, hidden_key = jax.random.split(key)

        def gates(columns: int, key: PRNGKeyArray) -> Array:
            keys = jax.random.split(key, (cells, 3))
            drawn = jax.vmap(jax.vmap(lambda one: orthogonal(units, columns, one)))(keys)
            return drawn.reshape(cells, 3 * units, columns)

        self.input_weight = gates(inputs, input_key)
        self.hidden_weight = gates(units, hidden_key)
        self.bias = jnp.zeros((cells, 3 * units))
        self.hidden_bias = jnp.zeros((cells, units))

    @property
    def shape(self) -> tuple[int, int]:
        cells, units = self.hidden_bias.shape
        return cells, units

    def project(self, x: Float[Array, "P I"]) -> Float[Array, "P gates"]:
        """The part of the gates that does not depend on the state."""
        with jax.default_matmul_precision("highest"):
            return jnp.einsum("pgi,pi->pg", self.input_weight, x) + self.bias

    def advance(self, projected: Float[Array, "P gates"], state: Float[Array, "P U"]) -> Float[Array, "P U"]:
        with jax.default_matmul_precision("highest"):
            recurrent = jnp.einsum("pgu,pu->pg", self.hidden_weight, state)
        (x_reset, x_update, x_new), (h_reset, h_update, h_new) = (
            jnp.split(part, 3, axis=-1) for part in (projected, recurrent)
        )
        reset, update = jax.nn.sigmoid(x_reset + h_reset), jax.nn.sigmoid(x_update + h_update)
        new = jnp.tanh(x_new + reset * (h_new + self.hidden_bias))
        return (1 - update) * new + update * state
