"""PPO as the preset ``classic`` has it: shuffled minibatches, normalised advantages and returns, clipping and decay."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_agent import PPO as SMALL_PPO
from small_agent import SMALL, WORLD, algorithm, begun, leaves, make_step, same, trained

from action_balance.algorithms import minibatches, rollout, update
from action_balance.algorithms.state import Params, TrainState, Trajectory
from action_balance.config.agent import AgentConfig

PPO = replace(
    SMALL_PPO,
    minibatches=4,
    minibatch_of="samples",
    learning_rate_end=0.0,
    max_grad_norm=0.5,
    normalize_advantages=True,
    normalize_returns=True,
    bootstrap_truncation=True,
)
CLASSIC = replace(SMALL, steps=384, algorithm=PPO, network=replace(SMALL.network, trunks="separate", activation="tanh"))
SAMPLES = 16 * 4  # of a rollout


@pytest.fixture(scope="module")
def made() -> tuple[TrainState, Trajectory]:
    """An agent in the middle of its training after one more rollout, and the rollout."""
    return jax.jit(lambda state: rollout.rollout(WORLD, state, algorithm(CLASSIC)))(trained(CLASSIC)[0])


def prepared(made: tuple[TrainState, Trajectory], config: AgentConfig = CLASSIC) -> minibatches.UpdateBatch:
    """What the minibatches learn from."""
    return prepare(*made, jnp.zeros((4, 2)), config=config)[1]


@partial(jax.jit, static_argnames="config")
def prepare(
    state: TrainState,
    trajectory: Trajectory,
    last_values: jax.Array,
    drift: jax.Array | None = None,
    *,
    config: AgentConfig,
) -> Any:
    """In one program for each set of settings."""
    return update.prepare(state, trajectory, last_values, jnp.ones(()), algorithm(config), drift=drift)


def test_every_epoch_has_every_sample_once_in_an_order_of_its_own(made: tuple[TrainState, Trajectory]) -> None:
    order = np.asarray(prepared(made).order).reshape(2, SAMPLES)
    np.testing.assert_array_equal(np.sort(order), [np.arange(SAMPLES)] * 2)
    assert (order[0] != order[1]).any()


@pytest.mark.parametrize("parts", [1, 2])
def test_a_shuffled_minibatch_has_its_samples_and_bonuses_learn_from_a_proportion(
    made: tuple[TrainState, Trajectory], parts: int
) -> None:
    config = replace(CLASSIC, exploration=replace(CLASSIC.exploration, update_proportion=0.25))
    batch = prepared(made, config)
    order = np.asarray(batch.order)[3].reshape(parts, -1)
    whole = np.asarray(batch.samples.targets.advantage).ravel()[order]
    for part in range(parts):
        samples, transitions, totals = minibatches.pick(batch, jnp.asarray(3), algorithm(config), part, parts)
        time, environment = np.divmod(order[part], 4)
        np.testing.assert_array_equal(samples.observation, made[1].observation[time, environment])
        np.testing.assert_array_equal(samples.action, made[1].action[time, environment])
        expected = (whole[part] - whole.mean()) / (whole.std() + 1e-8)
        np.testing.assert_allclose(samples.targets.advantage, expected, rtol=1e-4, atol=1e-6)
        seen = len(order[part]) // 4
        np.testing.assert_array_equal(transitions.next_frame, made[1].next_obs[time[:seen], environment[:seen]])
        assert totals == (16, 4)


def test_values_are_in_units_of_the_return(made: tuple[TrainState, Trajectory]) -> None:
    state, trajectory = made
    rewards = trajectory.reward.at[3].set(7.0)
    found = []
    for unit in (1.0, 1000.0):
        scale = replace(state, reward_scale=begun(CLASSIC).reward_scale)
        scaled = replace(trajectory, reward=unit * rewards)
        found.append(prepare(scale, scaled, jnp.zeros((4, 2)), config=CLASSIC)[2].noted["value_targets"])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)


def test_gradients_of_the_policy_are_clipped_and_those_of_bonuses_are_not() -> None:
    params = trained(CLASSIC)[0].params
    ones: Params = jax.tree.map(jnp.ones_like, params)
    clipped = update.clip_gradients(ones, CLASSIC)
    norm = np.sqrt(sum((leaf**2).sum() for leaf in leaves(clipped.policy)))
    np.testing.assert_allclose(norm, 0.5, rtol=1e-5)
    assert same(clipped.bonuses, ones.bonuses)
    assert same(update.clip_gradients(ones, SMALL), ones)


def test_the_learning_rate_falls_over_the_planned_updates() -> None:
    config = replace(CLASSIC, algorithm=replace(PPO, learning_rate=1e-2, learning_rate_end=2e-3))
    assert config.updates == 4

    def rate(done: int, config: AgentConfig) -> float:
        return float(np.asarray(update.learning_rate_factor(jnp.asarray(done), config)))

    assert [rate(done, config) for done in range(4)] == pytest.approx([1.0, 0.8, 0.6, 0.4])
    longer = replace(config, steps=640)  # a run that is extended is on the line of its new length
    assert rate(4, longer) == pytest.approx(0.6)
    assert update.learning_rate_factor(jnp.asarray(3), SMALL) is None


def test_the_first_ratio_is_one_and_nothing_is_learned_at_the_end_of_the_line() -> None:
    state, metrics = trained(CLASSIC, updates=4)
    assert metrics["first_ratio"] < 2e-6
    after, metrics = make_step(CLASSIC)(state)
    assert same(after.params, state.params)
    assert after.reward_scale is not None
    assert float(metrics["reward_scale"]) == float(after.reward_scale.scale)
