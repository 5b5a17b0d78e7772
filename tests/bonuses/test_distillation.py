from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.bonuses.distillation import Distillation, squared_error
from action_balance.nets.bonus import BonusNet

Loss = Callable[[Distillation, jax.Array], jax.Array]


class Plane(eqx.Module):
    """Outputs ``weight * s``, and ``weight * s + offset[a]`` for a pair: two of them, by hand."""

    weight: jax.Array  # (D,)
    offset: jax.Array  # (A, D)

    def __call__(self, observation: jax.Array, action: jax.Array | None = None) -> jax.Array:
        state = self.weight * observation
        return state if action is None else state + self.offset[action]

    def all_actions(self, observation: jax.Array) -> jax.Array:
        return self.weight * observation + self.offset


TARGET = Plane(jnp.array([1.0, -1.0]), jnp.array([[0.0, 0.0], [1.0, 1.0], [0.0, 4.0]]))
PREDICTOR = Plane(jnp.array([2.0, 1.0]), jnp.array([[0.0, 0.0], [0.0, 2.0], [3.0, 0.0]]))
#: Predictor less target: (1, 2) * s, and for a pair + (0, 0), (-1, 1) or (3, -4).
BY_HAND = Distillation(TARGET, PREDICTOR)

OBSERVATIONS, ACTIONS = jnp.array([2.0, -1.0, 0.0]), jnp.array([1, 2, 2])


def networks(inputs: int = 3, actions: int = 5, hidden: int = 8, outputs: int = 4) -> Distillation:
    keys = jax.random.split(jax.random.key(0))
    target, predictor = (BonusNet(inputs, hidden, outputs, actions=actions, key=key) for key in keys)
    return Distillation(target, predictor)


PAIRS, STATES = networks(), networks(actions=0)


def test_squared_error_is_the_mean_over_the_outputs() -> None:
    actual = jax.jit(squared_error)(jnp.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]), jnp.array([[1.0, 0.0, -2.0]] * 2))
    np.testing.assert_allclose(actual, [29 / 3, 5 / 3], rtol=1e-6)


def test_the_error_of_a_state_compares_predictor_and_target() -> None:
    # s = 2: (4 + 16) / 2, s = -1: (1 + 4) / 2, s = 0: 0
    np.testing.assert_allclose(jax.jit(jax.vmap(BY_HAND.error))(OBSERVATIONS), [10.0, 2.5, 0.0])


def test_the_error_of_a_pair_depends_on_its_action() -> None:
    # (2 - 1, 4 + 1): 26 / 2;  (-1 + 3, -2 - 4): 40 / 2;  (3, -4): 25 / 2
    np.testing.assert_allclose(jax.jit(jax.vmap(BY_HAND.error))(OBSERVATIONS, ACTIONS), [13.0, 20.0, 12.5])


def test_the_bonus_vector_holds_the_errors_of_all_actions_in_order() -> None:
    # s = 2: (2, 4), (1, 5), (5, 0);  s = -1: (-1, -2), (-2, -1), (2, -6);  s = 0: (0, 0), (-1, 1), (3, -4)
    expected = [[10.0, 13.0, 12.5], [2.5, 2.5, 20.0], [0.0, 1.0, 12.5]]
    np.testing.assert_allclose(jax.jit(jax.vmap(BY_HAND.all_errors))(OBSERVATIONS), expected)


@pytest.mark.parametrize(
    ("module", "loss"),
    [
        (PAIRS, lambda module, state: module.error(state, jnp.int32(2))),
        (PAIRS, lambda module, state: module.all_errors(state).mean()),
        (STATES, lambda module, state: module.error(state)),
    ],
    ids=["pair", "all pairs", "state"],
)
def test_no_gradient_reaches_the_target_and_all_of_it_the_predictor(module: Distillation, loss: Loss) -> None:
    gradient = jax.jit(jax.grad(loss))(module, jnp.array([-1.0, 0.5, 2.0]))
    for leaf in jax.tree.leaves(gradient.target):
        np.testing.assert_array_equal(leaf, np.zeros_like(leaf))
    for leaf in jax.tree.leaves(gradient.predictor):
        assert float(jnp.abs(leaf).max()) > 0


def test_the_gradient_of_a_pair_is_twice_its_mean_difference() -> None:
    gradient = jax.jit(jax.grad(lambda module: module.error(jnp.float32(2), jnp.int32(1))))(BY_HAND)
    # Difference (1, 5): by the offset 2 * (1, 5) / 2, by the weight that times s = 2.
    np.testing.assert_allclose(gradient.predictor.offset, [[0.0, 0.0], [1.0, 5.0], [0.0, 0.0]])
    np.testing.assert_allclose(gradient.predictor.weight, [2.0, 10.0])
    np.testing.assert_array_equal(gradient.target.offset, np.zeros((3, 2)))
    np.testing.assert_array_equal(gradient.target.weight, np.zeros(2))
