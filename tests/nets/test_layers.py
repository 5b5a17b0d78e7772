import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.core.embedding import one_hot
from action_balance.nets.layers import Linear, _steps, orthogonal

PLAIN = Linear(3, 5, gain=0.5, key=jax.random.key(0))
JOINED = Linear(3, 2, gain=2**0.5, key=jax.random.key(1), actions=4)


def matrix(layer: Linear) -> np.ndarray:
    """The whole matrix, (out, in + A)."""
    parts = [layer.weight] if layer.action_weight is None else [layer.weight, layer.action_weight.T]
    return np.asarray(jnp.concatenate(parts, axis=1))


def by_hand() -> Linear:
    """``y = [[1, 2], [0, -1]] x + (10, 20)``, and (100, 200) or (300, 400) for an action."""
    layer = Linear(2, 2, gain=1.0, key=jax.random.key(2), actions=2)
    values = (
        jnp.array([[1.0, 2.0], [0.0, -1.0]]),
        jnp.array([10.0, 20.0]),
        jnp.array([[100.0, 200.0], [300.0, 400.0]]),
    )
    return eqx.tree_at(lambda one: (one.weight, one.bias, one.action_weight), layer, values)


def test_an_output_by_hand() -> None:
    actual = jax.jit(jax.vmap(by_hand()))(jnp.array([[1.0, 1.0], [2.0, 0.0]]), jnp.array([0, 1]))
    np.testing.assert_allclose(actual, [[113.0, 219.0], [312.0, 420.0]])


def test_outputs_of_all_actions_by_hand_of_a_shared_input_and_of_one_for_each() -> None:
    layer = by_hand()
    shared = jax.jit(jax.vmap(layer.all_actions))(jnp.array([[1.0, 1.0], [2.0, 0.0]]))
    np.testing.assert_allclose(shared, [[[113.0, 219.0], [313.0, 419.0]], [[112.0, 220.0], [312.0, 420.0]]])
    own = eqx.filter_jit(layer.all_actions)(jnp.array([[1.0, 1.0], [2.0, 0.0]]))
    np.testing.assert_allclose(own, [[113.0, 219.0], [312.0, 420.0]])


def test_weights_of_a_tall_layer_are_orthogonal_with_the_square_of_the_gain() -> None:
    np.testing.assert_allclose(matrix(PLAIN).T @ matrix(PLAIN), 0.25 * np.eye(3), atol=1e-6)
    np.testing.assert_array_equal(PLAIN.bias, np.zeros(5))


def test_weights_of_features_and_actions_are_orthogonal_together() -> None:
    assert matrix(JOINED).shape == (2, 7)
    np.testing.assert_allclose(matrix(JOINED) @ matrix(JOINED).T, 2 * np.eye(2), atol=1e-6)
    np.testing.assert_array_equal(JOINED.bias, np.zeros(2))


@pytest.mark.parametrize(
    ("rows", "columns", "steps"),
    [
        (1024, 256, 15),  # the least that is large, and the nearest to a square
        (20, 3136, 15),  # wide: the rows are orthogonal
        (1023, 16, 50),
        (1024, 257, 50),
    ],
)
def test_large_matrices_far_from_square_take_fewer_steps_and_are_orthogonal(
    rows: int, columns: int, steps: int
) -> None:
    assert _steps(max(rows, columns), min(rows, columns)) == steps
    for seed in range(3):
        made = np.asarray(jax.jit(orthogonal, static_argnums=(0, 1))(rows, columns, jax.random.key(seed)))
        products = made.T @ made if rows >= columns else made @ made.T
        np.testing.assert_allclose(products, np.eye(min(rows, columns)), atol=1e-5)


def test_an_action_that_joins_equals_the_concatenated_one_hot() -> None:
    xs, actions = jax.random.normal(jax.random.key(3), (4, 3)), jnp.arange(4)
    expected = [matrix(JOINED) @ np.concatenate([x, one_hot(a, 4)]) for x, a in zip(xs, actions, strict=True)]
    np.testing.assert_allclose(jax.jit(jax.vmap(JOINED))(xs, actions), expected, rtol=1e-5, atol=1e-6)


def test_an_action_is_required_where_networks_see_it_and_refused_elsewhere() -> None:
    with pytest.raises(TypeError, match="needs an action"):
        JOINED(jnp.zeros(3))
    with pytest.raises(TypeError, match="has no actions"):
        PLAIN(jnp.zeros(3), jnp.int32(0))
    with pytest.raises(TypeError, match="has no actions"):
        PLAIN.all_actions(jnp.zeros(3))
