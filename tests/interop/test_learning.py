"""`shift`, minibatches and steps that do not count, by hand."""

import copy
from dataclasses import replace
from typing import Any

import gymnasium
import numpy as np
import pytest
from small_bonus import ACTIONS, OBS, TAKEN, make, make_rnd

from action_balance import ActionBalance
from action_balance.errors import UserError


def test_the_shift_is_the_normalised_bonus_times_the_coefficient() -> None:
    module = make(coef=2.0)
    bonus = module.bonus(OBS).astype(float)
    expected = bonus / np.sqrt((bonus**2).sum(axis=1, keepdims=True))
    np.testing.assert_allclose(module.shift(OBS), 2 * expected, rtol=1e-5)
    np.testing.assert_allclose(module.shift(OBS, coef=0.5), 0.5 * expected, rtol=1e-5)
    logits = np.linspace(-1, 1, 8 * ACTIONS, dtype=np.float32).reshape(8, ACTIONS)
    np.testing.assert_array_equal(module.logits(OBS, logits), logits + module.shift(OBS))


@pytest.mark.parametrize("kind", ["l2", "standard", "raw"])
def test_forbidden_actions_have_no_share_of_the_shift(kind: Any) -> None:
    module = make(coef=1.5, normalize=kind)
    mask = np.array([1, 0, 1, 1], np.int8)
    bonus = module.bonus(OBS[0]).astype(float)[[0, 2, 3]]
    by_hand = {
        "raw": bonus,
        "l2": bonus / np.sqrt((bonus**2).sum()),
        "standard": (bonus - bonus.mean()) / bonus.std(),
    }
    shift = module.shift(OBS[0], mask)
    assert shift[1] == 0
    np.testing.assert_allclose(shift[[0, 2, 3]], 1.5 * by_hand[kind], rtol=1e-3)
    # Minus infinity forbids an action, too.
    balanced = module.logits(OBS[0], [0.0, -np.inf, 1.0, 2.0])
    np.testing.assert_array_equal(balanced, np.array([0, -np.inf, 1, 2], np.float32) + shift)


def test_one_call_with_epochs_is_as_many_steps_and_counts_every_sample_once() -> None:
    together, apart = make(), make()
    apart.observe(OBS)
    first = together.learn(OBS, TAKEN, epochs=3)
    # The statistics already have the batch: with learning rate 0, they would change in every call.
    errors = [_step_without_statistics(apart) for _ in range(3)]
    assert first == pytest.approx(errors[0], rel=1e-5)
    np.testing.assert_allclose(together.bonus(OBS), apart.bonus(OBS), rtol=1e-3)
    assert float(together._learner.obs_stats.count) == 8


def _step_without_statistics(module: Any) -> float:
    stats = module._learner.obs_stats
    error = module.learn(OBS, TAKEN)
    module._replace(replace(module._learner, obs_stats=stats))
    return float(error)


def test_minibatches_are_steps_on_parts_of_the_batch() -> None:
    module = make(learning_rate=0.0)
    error = module.learn(OBS, TAKEN, epochs=2, minibatches=4)
    assert module._learner.gradient_steps == 8
    # Without learning, the parts have the errors of the whole, each once.
    pairs = module.bonus(OBS)[np.arange(8), TAKEN]
    assert error == pytest.approx(float(pairs.mean()), rel=1e-4)
    part = module.learn(OBS, TAKEN, update_proportion=0.125)  # one of eight
    assert min(abs(part - pair) for pair in pairs) < 1e-3 * part


def test_steps_that_do_not_count_teach_nothing() -> None:
    valid = np.arange(8) < 5
    some, others = make(), make()
    assert some.learn(OBS, TAKEN, valid=valid) == others.learn(OBS[:5], TAKEN[:5])
    np.testing.assert_array_equal(some.bonus(OBS), others.bonus(OBS))
    rnd, other = make_rnd(), make_rnd()
    assert rnd.learn(OBS, valid=valid) == other.learn(OBS[:5])
    assert rnd.learn(OBS, valid=np.zeros(8, bool)) == 0
    assert float(rnd._learner.obs_stats.count) == 5
    with pytest.raises(UserError, match=r"valid is bool \(3,\), but must be bool \(8,\)"):
        rnd.learn(OBS, valid=np.ones(3, bool))


def test_a_step_that_does_not_count_has_no_reward_and_returns_skip_it() -> None:
    rollout = OBS[:6].reshape(3, 2, -1)
    valid = np.array([[True, True], [True, False], [True, True]])
    module = make_rnd(2, gamma=0.5)
    errors = module.bonus(rollout).astype(float)
    first = [errors[0, 0], 0.5 * errors[0, 0] + errors[1, 0]]
    first.append(0.5 * first[1] + errors[2, 0])
    second = [errors[0, 1], 0.5 * errors[0, 1] + errors[2, 1]]  # as if the step had not been
    rewards = module.reward(rollout, valid)
    np.testing.assert_allclose(rewards, np.where(valid, errors, 0) / np.std(first + second), rtol=1e-4)
    np.testing.assert_array_equal(module.reward(rollout[0], np.zeros(2, bool)), [0, 0])


def test_a_multi_discrete_action_is_balanced_in_each_component() -> None:
    space = gymnasium.spaces.MultiDiscrete([2, 3])
    module = ActionBalance.create((3,), space, width=16, learning_rate=3e-3, coef=2.0)
    bonus = module.bonus(OBS[0]).astype(float)
    assert bonus.shape == (5,)
    parts = [part / np.sqrt((part**2).sum()) for part in np.split(bonus, [2])]
    np.testing.assert_allclose(module.shift(OBS[0]), 2 * np.concatenate(parts), rtol=1e-4)
    mask = np.array([True, False, True, True, True])
    np.testing.assert_allclose(module.shift(OBS[0], mask)[:2], [2, 0], rtol=1e-5)
    with pytest.raises(UserError, match="mask forbids all actions"):
        module.shift(OBS[0], [True, True, False, False, False])
    # The error of an action is the sum over its components.
    module.observe(OBS[:1])
    taken = module.bonus(OBS[0])[[1, 2 + 2]]
    module.learn(OBS[:1], np.array([[1, 2]]))
    for _ in range(60):
        error = module.learn(OBS[:1], np.array([[1, 2]]))
    assert error < 0.1 * taken.sum()
    after = module.bonus(OBS[0])
    assert after[1] < after[0]
    assert after[4] < after[[2, 3]].min()


def test_images_beside_vectors_are_padded_without_a_trace() -> None:
    space = gymnasium.spaces.Dict(
        image=gymnasium.spaces.Box(0, 255, (44, 44, 3), np.uint8), speed=gymnasium.spaces.Box(-9, 9, (2,))
    )
    module = ActionBalance.create(space, 2, width=16, learning_rate=1e-3)
    random = np.random.default_rng(0)
    obs = {"image": random.integers(0, 256, (3, 44, 44, 3), np.uint8), "speed": random.normal(size=(3, 2))}
    module.observe(obs)
    stats = module._learner.obs_stats
    assert float(stats.count) == 3  # of four with padding
    np.testing.assert_allclose(stats.mean[-2:], obs["speed"].mean(axis=0), rtol=1e-4)
    assert module.shift(obs).shape == (3, 2)
    errors = [module.learn(obs, [0, 0, 0]) for _ in range(5)]
    assert errors[-1] < errors[0]


def test_a_copy_learns_on_its_own() -> None:
    module = make(coef=0.5)
    module.learn(OBS, TAKEN)
    copied = copy.deepcopy(module)
    np.testing.assert_array_equal(copied.shift(OBS), module.shift(OBS))
    copied.learn(OBS, TAKEN)
    assert (copied.bonus(OBS) != module.bonus(OBS)).any()
