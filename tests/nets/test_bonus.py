import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.nets.bonus import BonusNet
from action_balance.nets.layers import Linear

KEY = jax.random.key(0)


def with_values(layer: Linear, weight: float, bias: float, offsets: list[float] | None = None) -> Linear:
    """A layer of one input and one output with these numbers."""
    layer = eqx.tree_at(lambda one: (one.weight, one.bias), layer, (jnp.array([[weight]]), jnp.array([bias])))
    if offsets is None:
        return layer
    return eqx.tree_at(lambda one: one.action_weight, layer, jnp.array(offsets)[:, None])


def by_hand(actions: int) -> BonusNet:
    """One number in, one hidden, one out: x + 0; then 2x + 0.25 (+ 0.1 or 1); then 10x + 1 (+ 5 or 7)."""
    net = BonusNet(1, 1, 1, actions=actions, encoder_layers=1, key=KEY)
    first, second = ([0.1, 1.0], [5.0, 7.0]) if actions else (None, None)
    joined = [with_values(net.joined[0], 2.0, 0.25, first), with_values(net.joined[1], 10.0, 1.0, second)]
    return eqx.tree_at(lambda n: (n.encoder, n.joined), net, ([with_values(net.encoder[0], 1.0, 0.0)], joined))


def test_the_output_of_a_state_by_hand() -> None:
    # -1: leaky -0.2, then -0.15, leaky -0.03, then 0.7.  3: 3, then 6.25, then 63.5.
    np.testing.assert_allclose(jax.jit(jax.vmap(by_hand(0)))(jnp.array([[-1.0], [3.0]])), [[0.7], [63.5]], rtol=1e-5)


def test_the_action_joins_every_fully_connected_layer() -> None:
    # -1: leaky -0.2; then -0.15 + 0.1 = -0.05, leaky -0.01, then -0.1 + 1 + 5; or 0.85, then 8.5 + 1 + 7.
    # 3: 6.35, then 63.5 + 6; or 7.25, then 72.5 + 8.
    expected = np.array([[[5.9], [16.5]], [[69.5], [80.5]]])
    net, states = by_hand(2), jnp.array([[-1.0], [3.0]])
    np.testing.assert_allclose(jax.jit(jax.vmap(net.all_actions))(states), expected, rtol=1e-5)
    pairs = jax.jit(jax.vmap(net))(jnp.repeat(states, 2, axis=0), jnp.array([0, 1, 0, 1]))
    np.testing.assert_allclose(pairs, expected.reshape(4, 1), rtol=1e-5)


@pytest.mark.parametrize(("encoder_layers", "joined_layers"), [(1, 1), (0, 1), (1, 0), (2, 2)])
def test_all_actions_equal_the_single_ones_for_any_depth(encoder_layers: int, joined_layers: int) -> None:
    net = BonusNet(6, 5, 4, actions=3, encoder_layers=encoder_layers, joined_layers=joined_layers, key=KEY)
    assert (len(net.encoder), len(net.joined)) == (encoder_layers, joined_layers + 1)
    state = jax.random.normal(jax.random.key(1), (2, 3))
    single = jax.jit(jax.vmap(net, in_axes=(None, 0)))(state, jnp.arange(3))
    np.testing.assert_allclose(eqx.filter_jit(net.all_actions)(state), single, rtol=1e-5, atol=1e-6)
    assert single.shape == (3, 4)


def test_every_layer_is_orthogonal_with_gain_sqrt_2() -> None:
    net = BonusNet(7, 5, 3, actions=2, encoder_layers=2, joined_layers=2, key=KEY)
    for layer in net.encoder + net.joined:
        action_weight = jnp.zeros((0, layer.bias.size)) if layer.action_weight is None else layer.action_weight
        joint = np.asarray(jnp.concatenate([layer.weight, action_weight.T], axis=1))
        np.testing.assert_allclose(joint @ joint.T, 2 * np.eye(len(joint)), atol=1e-5)


def test_a_network_of_states_takes_no_action() -> None:
    net = BonusNet(2, 3, 2, key=KEY)
    with pytest.raises(TypeError, match="has no actions"):
        net(jnp.zeros(2), jnp.int32(0))
    with pytest.raises(TypeError, match="has no actions"):
        net.all_actions(jnp.zeros(2))
