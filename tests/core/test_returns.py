from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.core import returns

# Four steps: A_3 = 4, A_2 = -2 + 4d, A_1 = 3 - 2d + 4d^2, A_0 = 1 + 3d - 2d^2 + 4d^3 for a decay d.
DELTAS = jnp.array([1.0, 3.0, -2.0, 4.0])


def second_of_three(function: Callable[..., jax.Array], *args: jax.Array | float) -> jax.Array:
    """The function under jit and vmap, on the arguments in the middle of two other streams."""
    lanes = [jnp.stack([jnp.full_like(arg, 7.0), jnp.asarray(arg), jnp.full_like(arg, -3.0)]) for arg in args]
    return jax.jit(jax.vmap(function))(*lanes)[1]


@pytest.mark.parametrize(
    ("discounts", "expected"),
    [
        (0.9, [2.3, -2.9, -1.0]),  # 1 + 0.9 * 2 - 0.5,  0 + 0.9 * (-1) - 2,  -2 + 0 + 1
        (jnp.array([0.0, 1.0, 0.5]), [0.5, -3.0, -1.0]),
    ],
)
def test_td_errors_are_reward_plus_discounted_next_value_less_value(
    discounts: jax.Array | float, expected: list[float]
) -> None:
    rewards, values = jnp.array([1.0, 0.0, -2.0]), jnp.array([0.5, 2.0, -1.0])
    found = second_of_three(returns.td_errors, rewards, values, jnp.array([2.0, -1.0, 0.0]), discounts)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("decay", "expected"),
    [
        (0.0, [1.0, 3.0, -2.0, 4.0]),  # lambda 0: the one-step errors
        (1.0, [6.0, 5.0, 2.0, 4.0]),  # the sums of what follows
        (0.5, [2.5, 3.0, 0.0, 4.0]),  # 4, -2 + 2 = 0, 3 + 0 = 3, 1 + 1.5 = 2.5
        # Nothing passes from step 2 back to step 1: 4, -2 + 4 = 2, then 3 (not 5), 1 + 3 = 4 (not 6).
        (jnp.array([1.0, 0.0, 1.0, 100.0]), [4.0, 3.0, 2.0, 4.0]),
    ],
)
def test_advantages_decay_backwards_and_are_cut_where_the_decay_is_0(
    decay: jax.Array | float, expected: list[float]
) -> None:
    np.testing.assert_allclose(second_of_three(returns.advantages, DELTAS, decay), expected, rtol=1e-6)


def test_lambda_1_gives_the_discounted_return_less_the_value() -> None:
    rewards, values = jnp.array([1.0, 2.0, 3.0]), jnp.array([10.0, 20.0, 30.0])
    deltas = returns.td_errors(rewards, values, jnp.array([20.0, 30.0, 0.0]), 0.5)
    # Returns by hand: 3, 2 + 1.5 = 3.5, 1 + 1.75 = 2.75; the values inside the sum cancel.
    found = returns.advantages(deltas, 0.5 * 1.0)
    np.testing.assert_allclose(found, [2.75 - 10, 3.5 - 20, 3.0 - 30], rtol=1e-6)


def test_gradients_flow_to_every_earlier_advantage() -> None:
    jacobian = jax.jacobian(returns.advantages)(DELTAS, 0.5)
    expected = [[1.0, 0.5, 0.25, 0.125], [0.0, 1.0, 0.5, 0.25], [0.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.0, 1.0]]
    np.testing.assert_allclose(jacobian, expected)
