"""The coin-flip network: coins that stay with their visits, estimates that count, and what learns from what."""

from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from action_balance.bonuses.base import ACTION, INTRINSIC, Batch, BonusObs, Transitions, make_bonus
from action_balance.bonuses.coin_flip import SPEED, CoinFlipPairs, CoinFlips, CoinFlipStates
from action_balance.config.agent import AgentConfig, NetConfig
from action_balance.config.frozen import FrozenDict
from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.spec import EnvSpec

STATS = RunningMeanStd(jnp.float32(2), jnp.array([0.5, 0.5]), jnp.array([0.5, 0.5]))  # std 0.5
LATER = RunningMeanStd(jnp.float32(4), jnp.array([9.0, 9.0]), jnp.array([4.0, 4.0]))
A, B = [0.0, 1.0], [1.0, 1.0]
CLIP = 5.0


def make(slot: str, nvec: tuple[int, ...] = (3,), **settings: Any) -> CoinFlips:
    name = {INTRINSIC: "intrinsic", ACTION: "action_bonus"}[slot]
    chosen: Any = {
        name: "coin-flip",
        "bonus_settings": FrozenDict({"coin-flip": {"coins": 4, "memory": 8, **settings}}),
    }
    agent = AgentConfig(method="ppo", net=NetConfig(bonus_hidden=16), **chosen)
    bonus = make_bonus("coin-flip", slot, agent, EnvSpec("vector", (2,), nvec))
    assert isinstance(bonus, CoinFlips)
    return bonus


def batch(frames: Any, actions: Any, next_frames: Any, seed: int = 0, stats: RunningMeanStd = STATS) -> Batch:
    frame, after = jnp.asarray(frames, jnp.float32), jnp.asarray(next_frames, jnp.float32)
    zeros = jnp.zeros(frame.shape[:-1], jnp.int32)
    transitions = Transitions(frame, after, jnp.asarray(actions), zeros, zeros, zeros > 0, zeros > 0)
    return Batch(transitions, stats, CLIP, jax.random.key(seed))


def rollout(seed: int = 0, stats: RunningMeanStd = STATS) -> Batch:
    """Two steps of one environment: from A to B with action 2, from B to B with action 0."""
    return batch([[A], [B]], [[2], [0]], [[B], [B]], seed, stats)


def kept(state: Any) -> Any:
    """The visits of a memory, in the order of their places."""
    filled = np.isfinite(np.asarray(state.memory.keys))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[filled], state.memory.visits)


def test_what_was_never_seen_has_a_bonus_of_one() -> None:
    states, pairs = make(INTRINSIC), make(ACTION)
    params, state = states.init(jax.random.key(0), STATS)
    reward, _ = states.reward(params, state, rollout())
    np.testing.assert_allclose(reward, 1, rtol=1e-5)
    params, state = pairs.init(jax.random.key(0), STATS)
    assert isinstance(pairs, CoinFlipPairs)
    obs = BonusObs(jnp.array(A), jnp.int32(0), STATS, CLIP)
    np.testing.assert_allclose(pairs.scores(params, pairs.acting_state(state), obs), [1, 1, 1], rtol=1e-5)
    np.testing.assert_allclose(pairs.counts(params, state, obs), [0, 0, 0], atol=1e-5)


def test_the_bonus_is_the_length_of_the_sum_of_both_networks() -> None:
    bonus = make(INTRINSIC)
    params, state = bonus.init(jax.random.key(0), STATS)
    params = eqx.tree_at(lambda net: net.joined[-1].bias, params, jnp.array([0.1, 0.0, -0.05, 0.0]))
    reward, _ = bonus.reward(params, state, rollout())
    prior = np.asarray(state.prior(jnp.array([1.0, 1.0])))  # B, normalised
    found = prior * 2 / np.linalg.norm(prior) + SPEED * np.array([0.1, 0.0, -0.05, 0.0])
    expected = np.minimum(np.linalg.norm(found) / 2, 1)
    np.testing.assert_allclose(reward[:, 0], expected, rtol=1e-5)


def test_a_visit_of_states_is_where_it_led_and_a_visit_of_pairs_where_it_began() -> None:
    for slot, frames in ((INTRINSIC, [B, B]), (ACTION, [A, B])):
        bonus = make(slot)
        params, state = bonus.init(jax.random.key(0), STATS)
        _, state = bonus.reward(params, state, rollout())
        visits = kept(state)
        assert sorted(visits.frame.tolist()) == sorted(frames)
        assert set(np.unique(visits.coins)) <= {-1, 1}
        if slot == ACTION:
            assert dict(zip(map(tuple, visits.frame.tolist()), visits.action.tolist(), strict=True)) == {
                tuple(A): 2,
                tuple(B): 0,
            }


def test_every_visit_has_coins_of_its_own_which_stay_with_it() -> None:
    bonus = make(INTRINSIC, coins=64)
    params, state = bonus.init(jax.random.key(0), STATS)
    _, first = bonus.reward(params, state, rollout(seed=1))
    coins = kept(first).coins
    assert 0 < (coins[0] != coins[1]).mean() < 1
    _, second = bonus.reward(params, first, rollout(seed=2))
    rows = [row.tolist() for row in kept(second).coins]
    assert all(row.tolist() in rows for row in coins)
    assert len({tuple(row) for row in rows}) == 4
    # The loss of any minibatch compares with them, and with nothing of the minibatch itself: at the beginning f is the
    # prior g, half of which is in the target, so the error is ||c - g||^2 / 4 / D.
    found, _ = bonus.outputs(params, state, jnp.array(B), CLIP)
    possible = [((np.asarray(found[0]) - row) ** 2).mean() / 4 for row in coins]
    losses = bonus.loss(params, first, batch([A] * 6, [0] * 6, [A] * 6, seed=3))
    for loss in np.asarray(losses):
        assert min(abs(loss - value) for value in possible) < 1e-5


def test_a_visit_that_stands_for_others_has_smaller_coins() -> None:
    bonus = make(INTRINSIC)
    params, state = bonus.init(jax.random.key(0), STATS)
    _, state = bonus.reward(params, state, rollout())
    assert state.memory is not None
    # kept with probability 1 - exp(-log(4/3)) = 1/4
    quarter = replace(state, memory=replace(state.memory, threshold=jnp.float32(-np.log(4 / 3))))
    found, _ = bonus.outputs(params, state, jnp.array(B), CLIP)
    prior = np.asarray(found[0])
    possible = [((prior - (row / 2 + prior) / 2) ** 2).mean() for row in kept(state).coins]
    for loss in np.asarray(bonus.loss(params, quarter, batch([A] * 4, [0] * 4, [A] * 4))):
        assert min(abs(loss - value) for value in possible) < 1e-5


def test_running_statistics_do_not_change_the_estimate_and_the_prior_gets_no_gradient() -> None:
    bonus = make(INTRINSIC)
    params, state = bonus.init(jax.random.key(0), STATS)
    reward, after = bonus.reward(params, state, rollout())
    again, _ = bonus.reward(params, state, rollout(stats=LATER))
    assert reward.tolist() == again.tolist()

    def loss(params: Any, prior: Any) -> Any:
        return bonus.loss(params, replace(after, prior=prior), batch([A], [0], [A])).sum()

    trained, prior = jax.grad(loss, argnums=(0, 1))(params, after.prior)
    assert any(np.asarray(leaf).any() for leaf in jax.tree.leaves(trained))
    assert not any(np.asarray(leaf).any() for leaf in jax.tree.leaves(prior))


def test_only_the_heads_of_the_choices_taken_learn() -> None:
    bonus = make(ACTION, nvec=(2, 3))
    params, state = bonus.init(jax.random.key(0), STATS)
    _, state = bonus.reward(params, state, batch([[A]], [[[1, 0]]], [[B]]))
    gradient = jax.grad(lambda p: bonus.loss(p, state, batch([B], [[0, 0]], [B])).sum())(params)
    heads = np.abs(np.asarray(gradient.joined[-1].bias).reshape(5, 4)).sum(axis=1)
    assert (heads > 0).tolist() == [False, True, True, False, False]  # 1 of the first component, 0 of the second


def test_it_counts_and_does_not_forget() -> None:
    """Of eight states, six are visited often, one 3 times at the beginning, and one never."""
    agent = AgentConfig(method="ppo", intrinsic="coin-flip", net=NetConfig(bonus_hidden=64))
    bonus = make_bonus("coin-flip", INTRINSIC, agent, EnvSpec("vector", (8,), (2,)))
    assert isinstance(bonus, CoinFlipStates)
    stats = RunningMeanStd(jnp.float32(8), jnp.full(8, 0.125), jnp.full(8, 0.875))
    params, state = bonus.init(jax.random.key(0), stats)
    adam, eye = optax.adam(3e-4), jnp.eye(8)
    zeros = jnp.zeros((32, 1), jnp.int32)

    def update(carry: Any, given: Any) -> Any:
        params, state, optimizer = carry
        reached, key = given
        frames = eye[reached][:, None]
        transitions = Transitions(frames, frames, zeros, zeros, zeros, zeros > 0, zeros > 0)
        _, state = bonus.reward(params, state, Batch(transitions, stats, CLIP, key))
        flat = jax.tree.map(lambda leaf: leaf[:, 0], transitions)

        def step(carry: Any, key: Any) -> Any:
            params, optimizer = carry
            gradient = jax.grad(lambda p: bonus.loss(p, state, Batch(flat, stats, CLIP, key)).mean())(params)
            changes, optimizer = adam.update(gradient, optimizer)
            return (optax.apply_updates(params, changes), optimizer), None

        (params, optimizer), _ = jax.lax.scan(step, (params, optimizer), jax.random.split(key, 16))
        return (params, state, optimizer), None

    reached = np.random.default_rng(0).integers(0, 6, (40, 32))
    reached[0, :3] = 6
    keys = jax.random.split(jax.random.key(1), 40)
    run = jax.jit(lambda carry: jax.lax.scan(update, carry, (jnp.asarray(reached), keys))[0])
    params, state, _ = run((params, state, adam.init(params)))
    visits = 1 / jax.vmap(lambda frame: bonus.rareness(params, state, frame, CLIP)[0])(eye) - 1
    true = np.bincount(reached.ravel(), minlength=8)
    assert true[:6].min() > 180
    assert true[6:].tolist() == [3, 0]
    assert np.asarray(visits[:6]).min() > 25
    assert float(visits[6]) == pytest.approx(3, abs=1.5)
    assert float(visits[7]) < 1
