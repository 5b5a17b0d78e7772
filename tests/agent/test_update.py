"""Algorithm 1 as a whole: what must hold exactly, on a world small enough to run in seconds."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.agent import learner as train
from action_balance.agent import rollout, update
from action_balance.agent.state import Params, TargetParams, TrainState, Trajectory
from action_balance.bonuses.distillation import Distillation
from action_balance.config.agent import BonusConfig, Config, NetConfig, PPOConfig
from action_balance.core import ppo
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.maps import parse_map
from action_balance.errors import UserError

WORLD = GridEnvironment(parse_map("...G\n.#..\nS...\n", episode_steps=6))
SMALL = Config(
    steps=10_000,
    envs=4,
    ppo=PPOConfig(rollout_steps=16, epochs=2, minibatches=2, learning_rate=1e-2),
    bonus=BonusConfig(warmup_rollouts=2),
    net=NetConfig(hidden=8, bonus_hidden=8, bonus_outputs=4),
)


@cache
def make_step(config: Config) -> Callable[[TrainState], tuple[TrainState, train.Metrics]]:
    """The compiled update."""
    return eqx.filter_jit(lambda state: train.train_step(WORLD, state, config))


@cache
def begun(config: Config, seed: int = 0) -> TrainState:
    """A state before any update."""
    return train.begin(WORLD, config, jax.random.key(seed))


@cache
def trained(config: Config, updates: int = 3, seed: int = 0) -> tuple[TrainState, train.Metrics]:
    """A state after some updates, and the metrics of the last."""
    state = begun(config, seed)
    step = make_step(config)
    for _ in range(updates):
        state, metrics = step(state)
    return state, metrics


def leaves(tree: object) -> list[np.ndarray]:
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def same(one: object, other: object) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(leaves(one), leaves(other), strict=True))


@pytest.fixture(scope="module")
def state() -> TrainState:
    """An agent in the middle of its training."""
    return trained(SMALL)[0]


@pytest.fixture(scope="module")
def made(state: TrainState) -> tuple[TrainState, Trajectory]:
    """That agent after one more rollout, and the rollout."""
    return eqx.filter_jit(lambda state: rollout.rollout(WORLD, state, SMALL))(state)


def reached_cells(trajectory: Trajectory) -> jax.Array:
    return jax.vmap(jax.vmap(WORLD.index))(trajectory.next_obs)


def test_zero_coefficient_and_zero_intrinsic_weight_are_plain_ppo_bit_for_bit() -> None:
    off = replace(SMALL, bonus=replace(SMALL.bonus, action_coef=0.0), ppo=replace(SMALL.ppo, intrinsic_coef=0.0))
    plain, _ = trained(replace(SMALL, method="ppo"))
    switched_off, _ = trained(off)
    assert same(plain.params.policy, switched_off.params.policy)
    assert same(plain.environment, switched_off.environment)
    assert not same(plain.params.policy, trained(SMALL)[0].params.policy)


def test_the_first_ratio_of_every_update_is_one() -> None:
    state = begun(SMALL, 3)
    step = make_step(SMALL)
    for _ in range(4):
        state, metrics = step(state)
        assert metrics.first_ratio < 2e-6  # rounding of differently shaped matrix products


def test_actions_are_sampled_from_beta_and_its_log_prob_is_stored(made: tuple[TrainState, Trajectory]) -> None:
    _, trajectory = made
    beta = jax.vmap(jax.vmap(lambda x, y: rollout.behaviour_logits(x, y, jnp.ones(()), SMALL)))(
        trajectory.logits, trajectory.action_bonus
    )
    expected = jax.vmap(jax.vmap(ppo.log_prob))(beta, trajectory.action)
    np.testing.assert_allclose(trajectory.log_prob, expected, atol=1e-6)
    pi = jax.vmap(jax.vmap(ppo.log_prob))(trajectory.logits, trajectory.action)
    assert np.abs(np.asarray(pi - expected)).max() > 1e-3


def test_the_predictors_gradient_touches_no_policy_and_the_policys_no_predictor(
    made: tuple[TrainState, Trajectory],
) -> None:
    state, trajectory = made
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), trajectory)
    samples = update.Samples(
        flat.observation,
        flat.action,
        flat.log_prob,
        flat.action_bonus,
        jnp.ones(flat.action.shape),
        flat.values + 1,
    )
    pairs = update.Pairs(flat.observation, flat.action, flat.next_obs)
    whole = update.Whole(flat.action.size, flat.action.size)
    nothing = (jnp.zeros((0, 0), int), jax.random.split(state.key))
    lesson = update.UpdateBatch(samples, pairs, state.observations, jnp.ones(()), *nothing)

    def term(name: str) -> tuple[Params, TargetParams]:
        """Gradients of one term of the loss."""

        def of(params: Params, targets: TargetParams) -> jax.Array:
            terms = update.loss(params, targets, lesson, samples, pairs, whole, SMALL)[1]
            return getattr(terms, name)

        return jax.grad(of, argnums=(0, 1))(state.params, state.target_params)

    def zero(tree: object) -> bool:
        return all((leaf == 0).all() for leaf in leaves(tree))

    for name, own, others in (
        ("next_state", "next_state", ("policy", "action")),
        ("action", "action", ("policy", "next_state")),
        ("policy", "policy", ("next_state", "action")),
        ("value_int", "policy", ("next_state", "action")),
        ("entropy", "policy", ("next_state", "action")),
    ):
        params, targets = term(name)
        assert not zero(getattr(params, own)), name
        assert all(zero(getattr(params, other)) for other in others), name
        assert zero(targets), name


def test_targets_never_change(state: TrainState) -> None:
    assert same(state.target_params, begun(SMALL).target_params)


def test_bonus_belongs_to_the_state_reached_and_uses_the_statistics_before_the_rollout(
    made: tuple[TrainState, Trajectory],
) -> None:
    state, trajectory = made
    after, learning = eqx.filter_jit(lambda s, t: update.learn(s, t, reached_cells(t), SMALL))(state, trajectory)
    expected = update.next_state_bonus(state, trajectory, reached_cells(trajectory), SMALL)
    np.testing.assert_allclose(learning.bonus, expected, rtol=1e-5)
    late = replace(state, observations=after.observations)
    assert np.abs(update.next_state_bonus(late, trajectory, reached_cells(trajectory), SMALL) - expected).max() > 1e-4
    assert after.observations.count == state.observations.count + 4 * 16
    # Same cell reached, same bonus: it depends on s' alone.
    cells = np.asarray(reached_cells(trajectory)).ravel()
    bonuses = np.asarray(learning.bonus).ravel()
    for cell in np.unique(cells):
        assert np.ptp(bonuses[cells == cell]) < 1e-5


def test_training_uses_the_statistics_that_have_absorbed_the_rollout(made: tuple[TrainState, Trajectory]) -> None:
    state, trajectory = made
    whole = replace(SMALL, ppo=replace(SMALL.ppo, epochs=1, minibatches=1))
    after, learning = eqx.filter_jit(lambda s, t: update.learn(s, t, reached_cells(t), whole))(state, trajectory)

    def mean_errors(statistics: RunningMeanStd) -> tuple[float, float]:
        """Of both predictors as they were, for the whole rollout."""

        def errors(seen: jax.Array, reached: jax.Array, action: jax.Array) -> tuple[jax.Array, jax.Array]:
            next_state = Distillation(state.target_params.next_state, state.params.next_state)
            pair = Distillation(state.target_params.action, state.params.action)
            seen, reached = (statistics.normalize(x, whole.bonus.observation_clip) for x in (seen, reached))
            return next_state.error(reached), pair.error(seen, action)

        found = jax.vmap(jax.vmap(errors))(trajectory.observation, trajectory.next_obs, trajectory.action)
        return float(found[0].mean()), float(found[1].mean())

    told = float(learning.losses.next_state[0]), float(learning.losses.action[0])
    assert told == pytest.approx(mean_errors(after.observations), rel=1e-4)
    assert told != pytest.approx(mean_errors(state.observations), rel=1e-3)


def test_rewards_end_with_the_episode_and_bonuses_do_not() -> None:
    """Three steps of one environment, an end after the second; hand-computed with lambda 0 and values of 1."""
    config = replace(
        SMALL, ppo=replace(SMALL.ppo, gae_lambda=0.0, gamma_ext=0.5, gamma_int=0.25, minibatches=1), envs=1
    )
    shape = (3, 1)
    trajectory = Trajectory(
        observation=jnp.zeros((*shape, 2)),
        next_obs=jnp.zeros((*shape, 2)),
        action=jnp.zeros(shape, jnp.int32),
        log_prob=jnp.zeros(shape),
        logits=jnp.zeros((*shape, 4)),
        action_bonus=jnp.zeros((*shape, 4)),
        values=jnp.ones((*shape, 2)),
        reward=jnp.array([[1.0], [2.0], [3.0]]),
        terminated=jnp.array([[False], [False], [False]]),
        truncated=jnp.array([[False], [True], [False]]),
    )
    last = jnp.array([[4.0, 8.0]])
    bonus = jnp.array([[10.0], [20.0], [30.0]])
    intrinsic, extrinsic = update.advantages(trajectory, last, bonus, config)
    assert extrinsic[:, 0].tolist() == [1 + 0.5 - 1, 2 - 1, 3 + 0.5 * 8 - 1]  # a time limit is an end
    assert intrinsic[:, 0].tolist() == [10 + 0.25 - 1, 20 + 0.25 - 1, 30 + 0.25 * 4 - 1]
    cut = replace(config, ppo=replace(config.ppo, intrinsic_ends="episode"))
    assert update.advantages(trajectory, last, bonus, cut)[0][1, 0] == 20 - 1
    kept = replace(config, ppo=replace(config.ppo, intrinsic_ends="terminated"))
    assert update.advantages(trajectory, last, bonus, kept)[0][1, 0] == 20 + 0.25 - 1


def test_random_keeps_the_uniform_policy_and_learns_nothing() -> None:
    config = replace(SMALL, method="random")
    state, metrics = trained(config)
    assert same(state.params, begun(config).params)
    # A mean over 64 samples: summed up one by one, each addition is rounded by up to 6e-8.
    assert metrics.entropy_beta == pytest.approx(np.log(4), rel=64 * 6e-8)


def test_counts_are_those_of_the_rollouts(state: TrainState) -> None:
    assert state.visits.sum() == state.state_visits.sum() == 3 * 4 * 16
    assert (np.asarray(state.state_visits)[WORLD.world.walls] == 0).all()


def test_count_bonus_is_one_over_the_root_of_the_visits(made: tuple[TrainState, Trajectory]) -> None:
    state, trajectory = made
    config = replace(SMALL, method="count")
    cells = reached_cells(trajectory)
    bonus = update.next_state_bonus(state, trajectory, cells, config)
    np.testing.assert_allclose(bonus, 1 / np.sqrt(1 + np.asarray(state.state_visits)[np.asarray(cells)]), rtol=1e-6)


@pytest.mark.parametrize("learns_from", ["taken", "all"])
def test_action_predictor_learns_from_the_action_taken_or_from_all(
    learns_from: Literal["taken", "all"], made: tuple[TrainState, Trajectory]
) -> None:
    state, trajectory = made
    config = replace(SMALL, bonus=replace(SMALL.bonus, learns_from=learns_from))
    flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[2:]), trajectory)
    pairs = update.Pairs(flat.observation, flat.action, flat.next_obs)
    errors = update.action_errors(state.params, state.target_params, state.observations, pairs, config)
    module = Distillation(state.target_params.action, state.params.action)
    table = jax.vmap(lambda seen: module.all_errors(state.observations.normalize(seen)))(flat.observation)
    taken = table[jnp.arange(len(table)), flat.action]
    np.testing.assert_allclose(errors, taken if learns_from == "taken" else table.mean(axis=1), rtol=1e-4)


def test_coefficient_follows_its_schedule() -> None:
    config = replace(SMALL, steps=64 * 11, bonus=replace(SMALL.bonus, action_coef=2.0, action_coef_end=1.0))
    assert [float(rollout.action_coef(config, jnp.array(update))) for update in (0, 5, 10, 20)] == [2, 1.5, 1, 1]
    assert float(rollout.action_coef(SMALL, jnp.array(7))) == 1


def test_a_share_is_as_many_steps_of_each_environment() -> None:
    config = replace(SMALL, bonus=replace(SMALL.bonus, share=0.25))
    chosen = np.asarray(update.chosen_steps(jax.random.key(0), 8, 500, config))
    assert chosen.shape == (2, 500)
    assert (chosen[0] != chosen[1]).all()
    # Each of the 8 steps has the same chance; 125 of 500 are expected, with a standard deviation of 9.7.
    assert np.bincount(chosen.ravel(), minlength=8) == pytest.approx(125, abs=45)
    assert update.chosen_steps(jax.random.key(0), 8, 500, SMALL).tolist() == list(range(8))


def test_the_share_is_the_predictors_only() -> None:
    half = replace(SMALL, bonus=replace(SMALL.bonus, share=0.5))
    policy_alone = trained(half, 1)[0].params.policy
    assert same(policy_alone, trained(SMALL, 1)[0].params.policy)
    assert not same(trained(half, 1)[0].params.action, trained(SMALL, 1)[0].params.action)


def test_a_second_update_traces_nothing() -> None:
    traces = 0

    def step(state: TrainState) -> tuple[TrainState, train.Metrics]:
        nonlocal traces
        traces += 1
        return train.train_step(WORLD, state, SMALL)

    compiled = jax.jit(step)
    state = begun(SMALL)
    for _ in range(3):
        state, _ = compiled(state)
    assert traces == 1


def test_episode_returns_and_the_first_reward_are_followed_across_rollouts() -> None:
    """A policy that always moves right along the bottom, then up: hand-made trajectory instead of a policy."""
    state = begun(SMALL)
    trajectory = eqx.filter_jit(lambda s: rollout.rollout(WORLD, s, SMALL))(state)[1]
    reward = jnp.zeros((16, 4)).at[3, 1].set(1.0).at[9, 1].set(1.0)
    ended = jnp.zeros((16, 4), bool).at[5, 1].set(True).at[9, 1].set(True).at[9, 2].set(True)
    trajectory = replace(trajectory, reward=reward, terminated=ended, truncated=jnp.zeros_like(ended))
    state = replace(state, episode_return=jnp.array([0.0, 0.5, 0.25, 0.0]))
    state, episodes = train._follow_episodes(state, trajectory)
    assert episodes.number == 3
    assert episodes.mean_return == pytest.approx((1.5 + 1.0 + 0.25) / 3)
    assert episodes.best_return == 1.5
    assert state.episode_return.tolist() == [0, 0, 0, 0]
    assert train._first_reward(state, trajectory, SMALL) == 4 * 4  # the fourth step of four environments


@pytest.mark.parametrize(
    ("change", "hint"),
    [
        ({"method": "action-balnce"}, "did you mean action-balance?"),
        ({"envs": 6, "ppo": PPOConfig(minibatches=4)}, "do not divide"),
        ({"steps": 10}, "less than one rollout"),
        ({"method": "rnd", "bonus": BonusConfig(action_coef_end=0.5)}, "no action bonus"),
    ],
)
def test_settings_that_cannot_work_are_refused(change: dict[str, Any], hint: str) -> None:
    with pytest.raises(UserError, match=hint.replace("?", r"\?")):
        replace(SMALL, **change)
