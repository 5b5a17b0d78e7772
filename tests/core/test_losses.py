import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.core import losses

surrogate = jax.jit(jax.vmap(losses.clipped_surrogate, in_axes=(0, 0, None)))


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss"),
    [
        (1.0, 2.0, -2.0),  # inside: ratio * advantage
        (1.05, 2.0, -2.1),
        (0.95, -2.0, 1.9),
        (1.5, 2.0, -2.2),  # above, good action: no gain beyond 1.1
        (1.5, -2.0, 3.0),  # above, bad action: the whole loss
        (0.5, 2.0, -1.0),  # below, good action: the whole loss
        (0.5, -2.0, 1.8),  # below, bad action: no gain beyond 0.9
        (0.5, 0.0, 0.0),
    ],
)
def test_the_surrogate_is_clipped_where_that_makes_it_worse(ratio: float, advantage: float, loss: float) -> None:
    ratios, advantages = jnp.array([ratio, 1.0]), jnp.array([advantage, 7.0])
    np.testing.assert_allclose(surrogate(ratios, advantages, 0.1), [loss, -7.0], rtol=1e-6)


def test_the_surrogate_pulls_only_where_it_is_not_clipped() -> None:
    slope = jax.jit(jax.vmap(jax.grad(losses.clipped_surrogate), in_axes=(0, 0, None)))
    ratios, advantages = jnp.array([1.05, 1.5, 1.5, 0.5, 0.5]), jnp.array([2.0, 2.0, -2.0, 2.0, -2.0])
    np.testing.assert_allclose(slope(ratios, advantages, 0.1), [-2.0, 0.0, 2.0, -2.0, 0.0])


def test_the_squared_error_is_halved_and_not_clipped() -> None:
    actual = jax.jit(jax.vmap(losses.squared_error))(jnp.array([3.0, -100.0]), jnp.array([1.0, 100.0]))
    np.testing.assert_allclose(actual, [2.0, 20_000.0])


def test_standardised_advantages_are_those_of_the_whole_minibatch() -> None:
    whole = jnp.array([[1.0, 3.0], [5.0, 7.0]])  # mean 4, deviations -3, -1, 1, 3: variance 5
    np.testing.assert_allclose(losses.standardize(whole[0], whole), np.array([-3, -1]) / 5**0.5, rtol=1e-6)
    np.testing.assert_array_equal(losses.standardize(jnp.ones(3), jnp.ones(3)), np.zeros(3))


def test_gradients_longer_than_the_limit_keep_their_direction() -> None:
    gradients = {"a": jnp.array([3.0, 0.0]), "b": jnp.array([[4.0]])}  # of norm 5
    clipped = losses.clip_by_norm(gradients, 0.5)
    np.testing.assert_allclose(clipped["a"], [0.3, 0.0], rtol=1e-6)
    np.testing.assert_allclose(clipped["b"], [[0.4]], rtol=1e-6)
    for kept, norm in ((gradients, 5.0), ({"a": jnp.zeros(2)}, 0.5)):
        unchanged = losses.clip_by_norm(kept, norm)
        assert jax.tree.all(jax.tree.map(lambda x, y: bool((x == y).all()), unchanged, kept))


def test_a_linear_decay_ends_at_its_end() -> None:
    assert [float(losses.linear_decay(4.0, 1.0, x)) for x in (0.0, 0.25, 1.0, 2.0)] == [4.0, 3.25, 1.0, 1.0]
