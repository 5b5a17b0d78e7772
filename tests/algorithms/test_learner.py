"""Whole updates: counts, episodes, first rewards, and that an update is compiled once."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_agent import SMALL, WORLD, algorithm, begun, leaves, make_step, same, traces, trained

from action_balance.algorithms import learner, rollout
from action_balance.core.running_stats import RunningMeanStd


def test_counts_are_those_of_the_rollouts() -> None:
    state = trained()[0]
    assert state.visits.sum() == state.state_visits.sum() == 3 * 4 * 16
    assert (np.asarray(state.state_visits)[WORLD.world.walls] == 0).all()


@pytest.mark.parametrize("method", ["ppo", "rnd", "action-balance"])
def test_bonuses_that_a_method_does_not_use_are_neither_allocated_nor_optimised(method: str) -> None:
    state = begun(replace(SMALL, method=method))
    slots = {"ppo": set(), "rnd": {"intrinsic"}, "action-balance": {"action"}}[method]
    assert set(state.params.bonuses) == set(state.bonus_states) == slots
    assert len(jax.tree.leaves(state.optimizer[0].mu)) == len(jax.tree.leaves(state.params))


def test_the_first_weights_of_a_part_do_not_depend_on_the_other_parts() -> None:
    def check(one: Any, other: Any) -> None:
        for mine, yours in zip(leaves(one), leaves(other), strict=True):
            np.testing.assert_allclose(mine, yours, atol=1e-6)  # programs differ in their rounding

    both = begun().params
    for method in ("random", "ppo", "count", "rnd", "action-balance"):
        params = begun(replace(SMALL, method=method)).params
        check(params.policy, both.policy)
        for slot, one in params.bonuses.items() if method != "count" else ():
            check(one, both.bonuses[slot])
    # Nor on where the environments are.
    stats = RunningMeanStd.empty(WORLD.spec.frame_shape)
    initial = jax.jit(lambda key: learner.init_agent(algorithm(), stats, key).params)
    check(initial(jax.random.key(0)), both)
    assert not same(begun(SMALL, 1).params.policy, both.policy)


def test_a_coefficient_that_adapts_follows_the_divergence_of_the_rollout_that_it_acted_in() -> None:
    adapts = replace(SMALL.exploration, action_coef="auto", target_kl=1e-3, action_coef_start=2.0, action_coef_max=2.1)
    config = replace(SMALL, method="action-balance", exploration=adapts)
    state, expected = begun(config), 2.0
    assert begun().action_coef is None
    for _ in range(4):
        assert float(rollout.action_coef(config, state)) == pytest.approx(expected)
        state, metrics = make_step(config)(state)
        assert metrics["action_coef"] == pytest.approx(expected)
        step = max((1e-3 - float(metrics["kl_beta_pi"])) / 1e-3, -1)
        expected = min(expected * np.exp(0.1 * step), 2.1)
    assert expected != 2


def test_a_second_update_traces_nothing() -> None:
    step = make_step(SMALL)
    state, _ = step(begun())
    once = traces[SMALL]  # more than one where another file has cleared the caches of JAX
    for _ in range(2):
        state, _ = step(state)
    assert traces[SMALL] == once > 0


def test_returns_of_episodes_are_followed_across_rollouts() -> None:
    state = begun()
    trajectory = eqx.filter_jit(lambda s: rollout.rollout(WORLD, s, algorithm()))(state)[1]
    reward = jnp.zeros((16, 4)).at[3, 1].set(1.0).at[9, 1].set(1.0)
    ended = jnp.zeros((16, 4), bool).at[5, 1].set(True).at[9, 1].set(True).at[9, 2].set(True)
    trajectory = replace(trajectory, reward=reward, terminated=ended, truncated=jnp.zeros_like(ended))
    state = replace(state, episode_return=jnp.array([0.0, 0.5, 0.25, 0.0]))
    state, episodes = learner.track_episodes(state, trajectory)
    assert episodes.number == 3
    assert episodes.mean_return == pytest.approx((1.5 + 1.0 + 0.25) / 3)
    assert episodes.best_return == 1.5
    assert state.episode_return.tolist() == [0, 0, 0, 0]


def test_new_episodes_begin_without_the_return_of_those_that_were_lost() -> None:
    config = replace(SMALL, method="ppo", algorithm=replace(SMALL.algorithm, normalize_returns=True))
    state = begun(config)
    scale = state.reward_scale
    assert scale is not None
    state = replace(state, reward_scale=replace(scale, filtered=jnp.full_like(scale.filtered, 7.0)))
    after = learner.new_episodes(algorithm(config), state).reward_scale
    assert after is not None
    assert not after.filtered.any()
    assert same(after.moments, scale.moments)
