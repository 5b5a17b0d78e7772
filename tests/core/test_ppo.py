import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.core import ppo

#: Logits whose softmax is (1/8, 3/8, 4/8) and (1/3, 1/3, 1/3), the second shifted.
LOGITS = jnp.array([[0.0, np.log(3.0), np.log(4.0)], [50.0, 50.0, 50.0]])
PROBABILITIES = np.array([[0.125, 0.375, 0.5], [1 / 3, 1 / 3, 1 / 3]])

surrogate = jax.jit(jax.vmap(ppo.clipped_surrogate, in_axes=(0, 0, None)))


def test_log_prob_is_that_of_the_action_under_the_softmax() -> None:
    actual = jax.jit(jax.vmap(ppo.log_prob))(LOGITS, jnp.array([1, 2]))
    np.testing.assert_allclose(actual, np.log([0.375, 1 / 3]), rtol=1e-6)


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
    slope = jax.jit(jax.vmap(jax.grad(ppo.clipped_surrogate), in_axes=(0, 0, None)))
    ratios, advantages = jnp.array([1.05, 1.5, 1.5, 0.5, 0.5]), jnp.array([2.0, 2.0, -2.0, 2.0, -2.0])
    np.testing.assert_allclose(slope(ratios, advantages, 0.1), [-2.0, 0.0, 2.0, -2.0, 0.0])


def test_value_loss_is_half_the_squared_error_without_clipping() -> None:
    actual = jax.jit(jax.vmap(ppo.value_loss))(jnp.array([3.0, -100.0]), jnp.array([1.0, 100.0]))
    np.testing.assert_allclose(actual, [2.0, 20_000.0])


def test_entropy_by_hand() -> None:
    # 1/8 ln 8 + 3/8 ln(8/3) + 1/2 ln 2 and ln 3
    actual = jax.jit(jax.vmap(ppo.entropy))(LOGITS)
    by_hand = 3 / 8 * np.log(2) + 3 / 8 * np.log(8 / 3) + np.log(2) / 2
    np.testing.assert_allclose(actual, [by_hand, np.log(3)], rtol=1e-6)


def test_entropy_of_a_certain_action_is_0() -> None:
    assert float(ppo.entropy(jnp.array([0.0, 1000.0, -1000.0]))) == 0.0


def test_kl_divergence_by_hand_and_in_the_order_of_its_arguments() -> None:
    divergence = jax.jit(jax.vmap(ppo.kl_divergence))
    forward = (PROBABILITIES[0] * np.log(PROBABILITIES[0] * 3)).sum()
    backward = -(np.log(PROBABILITIES[0] * 3) / 3).sum()
    np.testing.assert_allclose(divergence(LOGITS, LOGITS[::-1]), [forward, backward], rtol=1e-5)
    assert forward == pytest.approx(0.1243, abs=1e-4)
    assert backward == pytest.approx(0.1525, abs=1e-4)


def test_kl_divergence_of_equal_policies_is_0_whatever_the_shift() -> None:
    np.testing.assert_allclose(jax.jit(jax.vmap(ppo.kl_divergence))(LOGITS, LOGITS + 4), [0.0, 0.0], atol=1e-6)
