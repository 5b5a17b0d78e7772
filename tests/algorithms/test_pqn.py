"""PQN: what it learns, and what Eq. 5 is in it. The tabular agent of the grid study is the reference for acting."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_agent import SMALL, begun, make_step, same

from action_balance.algorithms.base import Experience, make_algorithm
from action_balance.algorithms.pqn.config import PQNConfig
from action_balance.algorithms.pqn.pqn import PQN
from action_balance.algorithms.state import Samples, Trajectory
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.core.balance import FORBIDDEN
from action_balance.core.options import Normalization
from action_balance.envs.spec import EnvSpec
from action_balance.tabular import agent as tabular

SPEC = EnvSpec("vector", (3,), (2,))
BASE = AgentConfig(method="pqn", steps=64, envs=1, algorithm=PQNConfig(rollout_steps=3, minibatches=1))


def pqn(
    spec: EnvSpec = SPEC,
    method: str = "pqn",
    action_bonus: str | None = None,
    normalize: Normalization | None = None,
    **settings: Any,
) -> PQN:
    """PQN in an environment."""
    config = replace(
        BASE,
        method=method,
        action_bonus=action_bonus,
        algorithm=replace(BASE.algorithm, **settings),
        exploration=ExplorationConfig(normalize=normalize),
    )
    made = make_algorithm(config, spec)
    assert isinstance(made, PQN)
    return made


def test_preferences_are_the_weighted_sum_of_both_streams_and_values_are_those_of_its_best_action() -> None:
    algorithm = pqn(method="hash", extrinsic_coef=2.0, intrinsic_coef=0.5)
    extrinsic, intrinsic = jnp.array([1.0, 2.0]), jnp.array([9.0, 3.0])
    q, values = algorithm.evaluate(extrinsic, intrinsic, None)
    np.testing.assert_allclose(q, [2 * 1 + 4.5, 2 * 2 + 1.5])
    np.testing.assert_allclose(values, [9, 1])  # of the first action: intrinsic, extrinsic
    q, values = algorithm.evaluate(extrinsic, intrinsic, jnp.array([False, True]))
    np.testing.assert_allclose(q, [FORBIDDEN, 5.5])
    np.testing.assert_allclose(values, [3, 2])


def test_an_agent_saved_without_its_bonuses_has_the_same_preferences() -> None:
    whole = pqn(method="hash", extrinsic_coef=2.0)
    alone = make_algorithm(whole.config.policy_only(), SPEC)
    extrinsic, intrinsic = jnp.array([0.0, 0.1]), jnp.array([1.0, 0.0])  # the streams disagree
    expected = whole.evaluate(extrinsic, intrinsic, None)[0]
    np.testing.assert_array_equal(alone.evaluate(extrinsic, intrinsic, None)[0], expected)
    heads = alone.network(jax.random.key(0))(jnp.ones(3))
    assert np.abs(heads[0]).max() > 0
    np.testing.assert_array_equal(heads[1], 0)  # untrained, as it stays without an intrinsic reward


def test_the_value_of_an_action_of_several_components_is_the_mean_of_theirs() -> None:
    algorithm = pqn(replace(SPEC, nvec=(2, 3)), extrinsic_coef=1.0)
    extrinsic = jnp.array([1.0, 2.0, 5.0, 4.0, 3.0])
    np.testing.assert_allclose(algorithm.evaluate(extrinsic, 10 * extrinsic, None)[1], [35, 3.5])


def test_without_temperature_it_is_greedy_and_draws_one_of_equally_good_actions() -> None:
    algorithm = pqn(replace(SPEC, nvec=(4,)))
    q = jnp.array([1.0, 3.0, 3.0, 2.0])
    np.testing.assert_allclose(jax.nn.softmax(algorithm.policy(q, None)), [0, 0.5, 0.5, 0])
    mask = jnp.array([True, True, False, True])
    forbidden = jnp.where(mask, q, FORBIDDEN)
    np.testing.assert_allclose(jax.nn.softmax(algorithm.policy(forbidden, mask)), [0, 1, 0, 0])
    behaviour = algorithm.behaviour_logits(q, jnp.zeros(4), jnp.asarray(0.0), mask, jnp.asarray(0.3))
    np.testing.assert_allclose(jax.nn.softmax(behaviour), [0.1, 0.8, 0, 0.1], rtol=1e-6)


def test_with_a_temperature_it_acts_as_the_tabular_agent_does() -> None:
    algorithm = pqn(replace(SPEC, nvec=(4,)), action_bonus="hash", normalize="raw", temperature=1.0)
    counts, q = jnp.array([40, 2, 6, 7]), jnp.array([0.3, -0.2, 0.1, 0.0])
    ucb = jnp.sqrt(counts.sum().astype(float)) / (1 + counts)
    ours = algorithm.behaviour_logits(q, ucb, jnp.asarray(0.7), epsilon=jnp.asarray(0.0))
    np.testing.assert_allclose(jax.nn.softmax(ours), jax.nn.softmax(tabular.policy_logits(counts, q, 0.7)), rtol=1e-5)


def rollout(values: list[list[float]], rewards: list[float], terminated: list[bool]) -> Trajectory:
    """Three steps of one environment with two actions, of which the second one is taken in the first step."""
    steps = len(rewards)
    return Trajectory(
        observation=jnp.eye(3)[:, None],
        next_obs=jnp.zeros((steps, 1, 3)),
        action=jnp.array([[1], [0], [0]]),
        log_prob=jnp.zeros((steps, 1)),
        preferences=jnp.zeros((steps, 1, 2)),
        action_bonus=jnp.zeros((steps, 1, 2)),
        values=jnp.array(values)[:, None],
        reward=jnp.array(rewards)[:, None],
        terminated=jnp.array(terminated)[:, None],
        truncated=jnp.zeros((steps, 1), bool),
        index=jnp.zeros((steps, 1), jnp.int32),
        next_index=jnp.zeros((steps, 1), jnp.int32),
    )


def test_targets_are_lambda_returns_of_both_streams() -> None:
    algorithm = pqn(method="hash", q_lambda=0.5, gamma_ext=0.5, gamma_int=0.25)
    made = rollout([[8.0, 1.0], [4.0, 2.0], [2.0, 4.0]], [1.0, 10.0, 100.0], [False, True, False])
    last = jnp.array([[16.0, 6.0]])
    experience = Experience(made, jnp.array([[1.0], [2.0], [3.0]]), last, None, None)
    returns = algorithm.targets(experience).samples[:, 0]
    # Extrinsic, cut after the second step: 100 + 0.5 * 6; 10; 1 + 0.5 * (0.5 * 2 + 0.5 * 10).
    np.testing.assert_allclose(returns[:, 1], [4, 10, 103])
    # Intrinsic, never cut: 3 + 0.25 * 16; 2 + 0.25 * (0.5 * 2 + 0.5 * 7); 1 + 0.25 * (0.5 * 4 + 0.5 * 3.125).
    np.testing.assert_allclose(returns[:, 0], [1.890625, 3.125, 7])


def test_the_loss_is_half_the_squared_error_of_the_actions_taken() -> None:
    samples = Samples(
        observation=None,
        action=jnp.array([1, 0]),
        action_bonus=jnp.zeros((2, 2)),
        targets=jnp.array([[0.0, 4.0], [1.0, 1.0]]),
    )
    extrinsic, intrinsic = jnp.array([[9.0, 2.0], [4.0, 9.0]]), jnp.array([[9.0, 1.0], [3.0, 9.0]])
    total, terms = pqn(method="hash").loss(extrinsic, intrinsic, samples, jnp.asarray(1.0), jnp.mean)
    assert terms["value_ext"] == pytest.approx((2**2 + 3**2) / 4)
    assert terms["value_int"] == pytest.approx((1**2 + 2**2) / 4)
    assert total == pytest.approx(sum(terms.values()))
    assert pqn().loss(extrinsic, intrinsic, samples, jnp.asarray(1.0), jnp.mean)[0] == terms["value_ext"]


class Table(eqx.Module):
    """A linear network without hidden layers: of one-hot observations, a table of Q-values."""

    extrinsic: jax.Array
    intrinsic: jax.Array
    memory: None = None

    def __call__(self, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        return observation @ self.extrinsic, observation @ self.intrinsic

    def step(self, observation: jax.Array, memory: None) -> tuple[jax.Array, jax.Array, None]:
        return *self(observation), memory


def test_the_gradient_of_a_linear_network_is_the_step_of_tabular_q_learning() -> None:
    algorithm = pqn(method="pqn", q_lambda=0.0, gamma_ext=0.5, extrinsic_coef=1.0)
    table = np.array([[1.0, 0.0], [2.0, 4.0], [8.0, 6.0]])
    made = rollout([[0.0, value] for value in table.max(axis=1)], [1.0, 1.0, 1.0], [False, False, True])
    network = Table(jnp.array(table), jnp.zeros((3, 2)))
    experience = Experience(made, jnp.zeros((3, 1)), jnp.zeros((1, 2)), None, None)
    returns = algorithm.targets(experience).samples

    def loss(network: Table) -> jax.Array:
        first, second = jax.vmap(network)(made.observation[:, 0])
        samples = Samples(
            observation=None,
            action=made.action[:, 0],
            action_bonus=made.action_bonus[:, 0],
            targets=returns[:, 0],
        )
        return algorithm.loss(first, second, samples, jnp.asarray(0.0), jnp.sum)[0]

    expected = np.zeros((3, 2))  # the error of Watkins's rule, at every pair that was visited
    for place, action, target in ((0, 1, 1 + 0.5 * 4), (1, 0, 1 + 0.5 * 8), (2, 0, 1)):
        expected[place, action] = table[place, action] - target
    np.testing.assert_allclose(jax.grad(loss)(network).extrinsic, expected)


def test_the_distance_of_greedy_policies_is_the_share_of_the_steps_that_the_bonus_changes() -> None:
    algorithm = pqn(action_bonus="hash")
    made = replace(
        rollout([[0.0, 0.0]] * 3, [0.0] * 3, [False] * 3),
        preferences=jnp.array([[[1.0, 0.0]], [[0.0, 0.1]], [[0.0, 3.0]]]),
        action_bonus=jnp.array([[[0.0, 1.0]], [[1.0, 0.0]], [[1.0, 0.0]]]),
    )
    found = algorithm.distance(made, made.preferences, jnp.asarray(2.0))
    assert found == {"tv_beta_pi": pytest.approx(2 / 3)}  # the last one stays: 3 > 2


def test_an_adaptive_coefficient_keeps_that_share_near_its_target() -> None:
    config = replace(
        SMALL, method="action-balance-hash", algorithm=PQNConfig(rollout_steps=16, epochs=1, minibatches=2)
    )
    state, step = begun(config), make_step(config)
    before = state.action_coef
    state, metrics = step(state)
    grew = metrics["tv_beta_pi"] < config.target_kl
    assert before is not None
    assert state.action_coef is not None
    assert bool(state.action_coef > before) == bool(grew)


def test_all_of_it_is_compiled_once_and_repeats() -> None:
    config = replace(SMALL, method="action-balance-rnd", algorithm=PQNConfig(rollout_steps=16, epochs=2, minibatches=2))
    step, state = make_step(config), begun(config)
    once, _ = step(step(state)[0])
    again, metrics = step(step(begun(config))[0])
    assert same(once, again)
    assert {"loss_value_ext", "q_mean", "tv_beta_pi", "entropy_beta"} <= metrics.keys()
    assert metrics["states"] > 0
