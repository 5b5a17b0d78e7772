"""The inverse model by hand, and what trains the features."""

import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from known_features import Identity, transitions

from action_balance.bonuses.inverse_dynamics import Encoded, InverseDynamics
from action_balance.config.agent import AgentConfig
from action_balance.config.network import NetworkConfig
from action_balance.envs.spec import EnvSpec

AGENT = AgentConfig(network=NetworkConfig(bonus_hidden=4, channels=2, bonus_features=4))


def make(spec: EnvSpec, features: int) -> InverseDynamics:
    """Fresh networks."""
    made: InverseDynamics = jax.jit(partial(InverseDynamics, spec, AGENT, features))(jax.random.key(0))
    return made


def with_bias(dynamics: InverseDynamics, bias: list[float]) -> InverseDynamics:
    """An inverse model whose logits are the same for all transitions."""
    last = dynamics.inverse.joined[-1]
    return eqx.tree_at(
        lambda d: (d.inverse.joined[-1].weight, d.inverse.joined[-1].bias),
        dynamics,
        (jnp.zeros_like(last.weight), jnp.array(bias)),
    )


def test_the_loss_of_uniform_predictions_is_the_log_of_the_choices_summed_over_components() -> None:
    dynamics = make(EnvSpec("vector", (2,), (3, 2)), 2)
    dynamics = with_bias(dynamics, [7.0, 7.0, 7.0, -1.0, -1.0])
    losses = dynamics.losses(Encoded(jnp.ones((1, 2)), jnp.array([[2, 1]]), jnp.zeros((1, 2))))
    assert float(losses[0]) == pytest.approx(math.log(3) + math.log(2))


def test_the_loss_is_the_cross_entropy_of_the_action_taken() -> None:
    dynamics = make(EnvSpec("vector", (2,), (2,)), 2)
    dynamics = with_bias(dynamics, [math.log(3.0), 0.0])
    batch = transitions([[1.0, 0.0], [0.0, 1.0]], action=[0, 1])
    losses = dynamics.losses(dynamics.encode(batch))
    assert losses.tolist() == pytest.approx([math.log(4 / 3), math.log(4)])


def test_accuracy_is_the_proportion_of_components_that_are_predicted() -> None:
    dynamics = make(EnvSpec("vector", (2,), (3, 2)), 2)
    dynamics = with_bias(dynamics, [0.0, 0.0, 1.0, 1.0, 0.0])  # it predicts (2, 0)
    batch = transitions([[[1.0, 0.0]], [[0.0, 1.0]]], action=[[[2, 0]], [[2, 1]]])
    assert float(dynamics.accuracy(dynamics.encode(batch))) == 0.75


def test_the_inverse_model_sees_the_features_of_both_states_in_order() -> None:
    dynamics = make(EnvSpec("vector", (2,), (2,)), 2)
    dynamics = eqx.tree_at(lambda d: d.encoder, dynamics, Identity())
    batch = transitions([[3.0, 4.0]], frame=[[1.0, 2.0]], action=[1])
    encoded = dynamics.encode(batch)
    assert (encoded.before.tolist(), encoded.after.tolist()) == ([[1.0, 2.0]], [[3.0, 4.0]])
    logits = dynamics.inverse(jnp.array([1.0, 2.0, 3.0, 4.0]))
    np.testing.assert_allclose(dynamics.losses(encoded), -jax.nn.log_softmax(logits)[None, 1], rtol=1e-6)


def test_continuous_actions_are_regressed_as_the_environment_got_them() -> None:
    dynamics = with_bias(make(EnvSpec("vector", (2,), (), bounds=((-1.0, 1.0), (-1.0, 1.0))), 2), [0.5, 1.0])
    encoded = Encoded(jnp.ones((1, 2)), jnp.array([[0.3, 7.0]]), jnp.zeros((1, 2)))  # 7 is clipped to 1
    assert dynamics.losses(encoded).tolist() == pytest.approx([0.5 * 0.2**2])
    assert float(dynamics.accuracy(encoded)) == 0.5
