"""The gated recurrent unit: states by hand, and first weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance.nets.actor_critic import SeparateActorCritic
from action_balance.nets.gru import GRU
from action_balance.nets.policy import Heads


def sigmoid(x: float) -> float:
    return 1 / (1 + np.exp(-x))


def test_two_units_by_hand() -> None:
    """One input x = 2 and the state (0.5, -1); the gates of the second unit see the first one's state."""
    cell = GRU(1, 2, key=jax.random.key(0))
    weights = [
        [[[0.5], [0.0], [1.0], [-1.0], [0.25], [0.5]]],  # reset, update, new; two units each
        [[[0.0, 0.0], [2.0, 0.0], [0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [2.0, -1.0]]],
        [[0.0, 1.0, -1.0, 0.0, 0.5, 0.0]],
        [[0.25, 0.0]],
    ]

    def places(one: GRU) -> list[jax.Array]:
        return [one.input_weight, one.hidden_weight, one.bias, one.hidden_bias]

    cell = eqx.tree_at(places, cell, [jnp.array(value) for value in weights])
    found = cell.advance(cell.project(jnp.array([[2.0]])), jnp.array([[0.5, -1.0]]))
    reset = sigmoid(0.5 * 2), sigmoid(0 * 2 + 2 * 0.5 + 1)
    update = sigmoid(1 * 2 - 1), sigmoid(-1 * 2 + 1 * -1)
    new = (
        np.tanh(0.25 * 2 + 0.5 + reset[0] * (1 * 0.5 + 0.25)),
        np.tanh(0.5 * 2 + reset[1] * (2 * 0.5 + 1)),
    )
    expected = [(1 - z) * n + z * h for z, n, h in zip(update, new, (0.5, -1.0), strict=True)]
    np.testing.assert_allclose(found, [expected], rtol=1e-6)


def test_every_gate_of_every_cell_has_orthogonal_weights_of_its_own() -> None:
    cells = GRU(5, 3, cells=2, key=jax.random.key(1))
    assert cells.shape == (2, 3)
    for weight in (cells.input_weight, cells.hidden_weight):
        gates = weight.reshape(6, 3, -1)
        np.testing.assert_allclose(jnp.linalg.svd(gates, compute_uv=False), np.ones((6, 3)), rtol=1e-4)
        assert len({round(float(gate[0, 0]), 4) for gate in gates}) == 6
    assert not cells.bias.any()


def test_separate_trunks_have_a_cell_each_that_share_no_gradient() -> None:
    net = SeparateActorCritic(4, 3, 1, Heads(2, memory=3), key=jax.random.key(0))

    def values(net: SeparateActorCritic) -> jax.Array:
        return net.step(jnp.ones(4), jnp.ones((2, 3)))[1].sum()

    found = jax.jit(jax.grad(values))(net).memory.hidden_weight
    assert not found[0].any()
    assert found[1].any()
