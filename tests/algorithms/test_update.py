"""Learning: what must hold exactly, on a world small enough to run in seconds."""

from dataclasses import replace
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_agent import PPO, SMALL, WORLD, algorithm, begun, leaves, make_step, same, trained

from action_balance.algorithms import learner, minibatches, rollout, update
from action_balance.algorithms.base import Experience, make_algorithm
from action_balance.algorithms.ppo.ppo import PPOTargets
from action_balance.algorithms.state import Params, Samples, TrainState, Trajectory, UpdateInfo
from action_balance.bonuses.base import ACTION, INTRINSIC, Batch, Transitions
from action_balance.bonuses.distillation import Distillation
from action_balance.config.agent import AgentConfig
from action_balance.config.frozen import FrozenDict
from action_balance.core.running_stats import RunningMeanStd


@pytest.fixture(scope="module")
def state() -> TrainState:
    """An agent in the middle of its training."""
    return trained()[0]


@pytest.fixture(scope="module")
def made(state: TrainState) -> tuple[TrainState, Trajectory]:
    """That agent after one more rollout, and the rollout."""
    return eqx.filter_jit(lambda state: rollout.rollout(WORLD, state, algorithm()))(state)


@pytest.fixture(scope="module")
def learned(made: tuple[TrainState, Trajectory]) -> tuple[TrainState, UpdateInfo]:
    """The same agent after an update of a single minibatch, and what it reports."""
    return eqx.filter_jit(lambda s, t: update.learn(s, t, algorithm(WHOLE)))(*made)


WHOLE = replace(SMALL, algorithm=replace(PPO, epochs=1, minibatches=1))


@partial(jax.jit, static_argnums=3)
def advantages(trajectory: Trajectory, last: Any, bonus: Any, config: AgentConfig, final: Any = None) -> Any:
    """Those of both streams, in one program for each set of settings."""
    settings: Any = config.algorithm
    found = algorithm(config).advantages(Experience(trajectory, bonus, last, final, None), settings.gae_lambda)
    return found[..., 0], found[..., 1]


def flat(tree: Any) -> Any:
    """Time and environments as one axis."""
    return jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), tree)


def test_zero_coefficient_and_zero_intrinsic_weight_are_plain_ppo() -> None:
    off = replace(
        SMALL,
        exploration=replace(SMALL.exploration, action_coef=0.0),
        algorithm=replace(PPO, intrinsic_coef=0.0),
    )
    plain, _ = trained(replace(SMALL, method="ppo"))
    switched_off, _ = trained(off)
    for one, other in zip(leaves(plain.params.policy), leaves(switched_off.params.policy), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    assert same(plain.env_state, switched_off.env_state)
    assert np.abs(leaves(plain.params.policy)[0] - leaves(trained()[0].params.policy)[0]).max() > 1e-3


def test_the_first_ratio_of_every_update_is_one() -> None:
    state = begun(SMALL, 3)
    step = make_step(SMALL)
    for _ in range(4):
        state, metrics = step(state)
        assert metrics["first_ratio"] < 2e-6  # rounding of differently shaped matrix products


def test_the_first_ratio_is_one_where_only_the_policy_sees_normalised_observations() -> None:
    """There is no warm-up then: the statistics begin with the first rollout, which is seen as it is."""
    spec = replace(WORLD.spec, normalize_obs=True)
    of_world = make_algorithm(replace(SMALL, method="ppo"), spec)
    state = jax.jit(partial(learner.init_state, WORLD, of_world))(jax.random.key(0))
    assert state.obs_stats.count == 0
    step = eqx.filter_jit(partial(learner.train_step, WORLD, algorithm=of_world))
    for update_number in (1, 2):
        state, metrics = step(state)
        assert metrics["first_ratio"] < 2e-6
        assert metrics["parameters_finite"]
        assert state.obs_stats.count == update_number * 4 * 16


def test_the_gradient_of_a_bonus_touches_no_policy_and_that_of_the_policy_no_bonus(
    made: tuple[TrainState, Trajectory],
) -> None:
    state, trajectory = made
    one = flat(trajectory)
    ones = jnp.ones(one.action.shape)
    targets = PPOTargets(one.log_prob, ones, one.values + 1)
    samples = Samples(one.observation, one.action, one.action_bonus, targets)
    transitions = update.bonus_transitions(one)
    totals = minibatches.Totals(one.action.size, one.action.size)
    nothing = (jnp.zeros((2, 0), int), jax.random.split(state.key))
    batch = minibatches.UpdateBatch(samples, transitions, state.obs_stats, jnp.ones(()), *nothing)

    owners = {INTRINSIC: INTRINSIC, ACTION: ACTION} | dict.fromkeys(("policy", "value_int", "entropy"), "policy")

    def terms(params: Params, bonus_states: Any) -> dict[str, jax.Array]:
        found = update.loss(params, bonus_states, batch, samples, transitions, totals, algorithm(), state.key)[1]
        return {name: found[name] for name in owners}

    # The gradients of each term, in one program.
    gradients = jax.jit(jax.jacrev(terms, argnums=(0, 1)))(state.params, state.bonus_states)

    def zero(tree: object) -> bool:
        return all((leaf == 0).all() for leaf in leaves(tree))

    for name, own in owners.items():
        params, targets = gradients[name]
        parts = {"policy": params.policy, **params.bonuses}
        assert {part: not zero(tree) for part, tree in parts.items()} == {part: part == own for part in parts}, name
        assert zero(targets), name


def test_reward_belongs_to_the_state_reached_and_uses_the_statistics_before_the_rollout(
    made: tuple[TrainState, Trajectory], learned: tuple[TrainState, UpdateInfo]
) -> None:
    (state, trajectory), (after, info) = made, learned
    assert same(after.bonus_states, state.bonus_states)  # targets never change
    transitions = update.bonus_transitions(trajectory)
    parts = state.params.bonuses, state.bonus_states
    expected, _ = algorithm().rewards(*parts, state.obs_stats, transitions, state.key)
    np.testing.assert_allclose(info.reward, expected, rtol=1e-5)
    late, _ = algorithm().rewards(*parts, after.obs_stats, transitions, state.key)
    assert np.abs(late - expected).max() > 1e-4
    assert after.obs_stats.count == state.obs_stats.count + 4 * 16
    # Same cell reached, same reward: it depends on s' alone.
    cells, rewards = np.asarray(trajectory.next_index).ravel(), np.asarray(info.reward).ravel()
    for cell in np.unique(cells):
        assert np.ptp(rewards[cells == cell]) < 1e-5


def test_training_uses_the_statistics_with_the_rollout(
    made: tuple[TrainState, Trajectory], learned: tuple[TrainState, UpdateInfo]
) -> None:
    (state, trajectory), (after, info) = made, learned

    def mean_errors(stats: RunningMeanStd) -> tuple[float, float]:
        """Of both predictors as they were, for the whole rollout."""

        def errors(obs: jax.Array, next_obs: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
            modules = [
                Distillation(state.bonus_states[slot], state.params.bonuses[slot]) for slot in (INTRINSIC, ACTION)
            ]
            obs, next_obs = (stats.normalize(x, WHOLE.exploration.observation_clip) for x in (obs, next_obs))
            return modules[0].error(next_obs), modules[1].error(obs, action)

        found = jax.jit(jax.vmap(jax.vmap(errors)))(trajectory.observation, trajectory.next_obs, trajectory.action)
        return float(found[0].mean()), float(found[1].mean())

    reported = float(info.losses[INTRINSIC][0]), float(info.losses[ACTION][0])
    assert reported == pytest.approx(mean_errors(after.obs_stats), rel=1e-4)
    assert reported != pytest.approx(mean_errors(state.obs_stats), rel=1e-3)


def test_rewards_end_with_the_episode_and_bonuses_do_not() -> None:
    """Three steps of one environment, an end after the second; hand-computed with lambda 0 and values of 1."""
    settings = replace(PPO, gae_lambda=0.0, gamma_ext=0.5, gamma_int=0.25, minibatches=1)
    config = replace(SMALL, algorithm=settings, envs=1)
    shape = (3, 1)
    zeros = jnp.zeros(shape, jnp.int32)
    trajectory = Trajectory(
        observation=jnp.zeros((*shape, 2)),
        next_obs=jnp.zeros((*shape, 2)),
        action=zeros,
        log_prob=jnp.zeros(shape),
        preferences=jnp.zeros((*shape, 4)),
        action_bonus=jnp.zeros((*shape, 4)),
        values=jnp.ones((*shape, 2)),
        reward=jnp.array([[1.0], [2.0], [3.0]]),
        terminated=zeros > 0,
        truncated=jnp.array([[False], [True], [False]]),
        index=zeros,
        next_index=zeros,
    )
    last = jnp.array([[4.0, 8.0]])
    bonus = jnp.array([[10.0], [20.0], [30.0]])
    intrinsic, extrinsic = advantages(trajectory, last, bonus, config)
    assert extrinsic[:, 0].tolist() == [1 + 0.5 - 1, 2 - 1, 3 + 0.5 * 8 - 1]  # a time limit is an end
    assert intrinsic[:, 0].tolist() == [10 + 0.25 - 1, 20 + 0.25 - 1, 30 + 0.25 * 4 - 1]
    cut = replace(config, algorithm=replace(settings, intrinsic_ends="episode"))
    assert advantages(trajectory, last, bonus, cut)[0][1, 0] == 20 - 1
    kept = replace(config, algorithm=replace(settings, intrinsic_ends="terminated"))
    assert advantages(trajectory, last, bonus, kept)[0][1, 0] == 20 + 0.25 - 1
    # Bootstrapped: the time limit after the second step continues with the values of what was reached, 6 and 10.
    reached = jnp.full((3, 1, 2), jnp.nan).at[1, 0].set(jnp.array([6.0, 10.0]))
    intrinsic, extrinsic = advantages(trajectory, last, bonus, config, reached)
    assert extrinsic[:, 0].tolist() == [1 + 0.5 - 1, 2 + 0.5 * 10 - 1, 3 + 0.5 * 8 - 1]
    assert intrinsic[1, 0] == 20 + 0.25 - 1  # never cut
    assert advantages(trajectory, last, bonus, cut, reached)[0][1, 0] == 20 + 0.25 * 6 - 1
    # A task that ends at its time limit has ended, and the sum over later steps stops at every end.
    long = replace(cut, algorithm=replace(settings, intrinsic_ends="episode", gae_lambda=1.0))
    both = replace(trajectory, terminated=trajectory.truncated)
    assert advantages(both, last, bonus, long, reached)[1][:, 0].tolist() == [0.5 + 0.5 * 1, 1, 6]
    assert advantages(trajectory, last, bonus, long, reached)[1][:, 0].tolist() == [0.5 + 0.5 * 6, 6, 6]


def test_action_predictor_learns_from_the_action_taken_or_from_all(made: tuple[TrainState, Trajectory]) -> None:
    state, trajectory = made
    transitions: Transitions = flat(update.bonus_transitions(trajectory))
    params, target = state.params.bonuses[ACTION], state.bonus_states[ACTION]
    module = Distillation(target, params)
    table = jax.jit(jax.vmap(lambda obs: module.all_errors(state.obs_stats.normalize(obs))))(transitions.frame)
    table = np.asarray(table)
    taken = table[np.arange(len(table)), np.asarray(transitions.action)]
    for learns_from, expected in (("taken", taken), ("all", table.mean(axis=1))):
        bonus = algorithm(
            replace(SMALL, bonus_settings=FrozenDict(distillation={"learns_from": learns_from}))
        ).action_bonus
        assert bonus is not None
        losses = bonus.loss(params, target, Batch(transitions, state.obs_stats, 5.0, jax.random.key(0)))
        np.testing.assert_allclose(losses, expected, rtol=1e-4)


def test_a_proportion_is_the_same_number_of_steps_of_each_environment() -> None:
    config = replace(SMALL, exploration=replace(SMALL.exploration, update_proportion=0.25))
    chosen = np.asarray(minibatches.chosen_steps(jax.random.key(0), 8, 500, config))
    assert chosen.shape == (2, 500)
    assert (chosen[0] != chosen[1]).all()
    # Each of the 8 steps has the same chance; 125 of 500 are expected, with a standard deviation of 9.7.
    assert np.bincount(chosen.ravel(), minlength=8) == pytest.approx(125, abs=45)
    assert minibatches.chosen_steps(jax.random.key(0), 8, 500, SMALL).tolist() == list(range(8))
