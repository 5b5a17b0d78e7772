from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.core.running_stats import ReturnScale, RewardScale, RunningMeanStd

#: Compiled once for each size of a batch.
update = jax.jit(RunningMeanStd.update)


def merged(samples: np.ndarray, cuts: Sequence[int] = ()) -> RunningMeanStd:
    """The moments after all samples, split into batches at ``cuts``."""
    moments = RunningMeanStd.empty(samples.shape[1:])
    for batch in np.split(samples, sorted(set(cuts))):
        moments = update(moments, jnp.asarray(batch))
    return moments


# --- Moments ------------------------------------------------------------------


def test_before_anything_the_mean_is_0_and_the_variance_1() -> None:
    moments = RunningMeanStd.empty((2,))
    np.testing.assert_array_equal(moments.mean, [0.0, 0.0])
    np.testing.assert_array_equal(moments.variance, [1.0, 1.0])
    np.testing.assert_allclose(moments.normalize(jnp.array([3.0, -7.0])), [3.0, -5.0])


@pytest.mark.parametrize("cuts", [(), (1,), (2,), (1, 2)])
def test_moments_by_hand_however_samples_are_batched(cuts: tuple[int, ...]) -> None:
    # First feature: mean 3, deviations -2, 0, 2. Second: mean 10, deviations 0, -1, 1.
    moments = merged(np.array([[1.0, 10.0], [3.0, 9.0], [5.0, 11.0]], np.float32), cuts)
    np.testing.assert_allclose(moments.count, 3.0)
    np.testing.assert_allclose(moments.mean, [3.0, 10.0])
    np.testing.assert_allclose(moments.variance, [8 / 3, 2 / 3], rtol=1e-6)


def test_many_batches_far_from_zero_stay_exact() -> None:
    samples = (np.random.default_rng(1).normal(size=(300, 100)) + 1000).astype(np.float32)
    moments, _ = jax.lax.scan(lambda m, batch: (m.update(batch), None), RunningMeanStd.empty(), jnp.asarray(samples))
    np.testing.assert_allclose(moments.mean, samples.mean(dtype=float), rtol=1e-6)
    np.testing.assert_allclose(moments.variance, samples.var(dtype=float), rtol=1e-3)


@pytest.mark.parametrize("value", [0.1, 236.7])
def test_what_never_changes_has_variance_0_and_is_whitened_to_0(value: float) -> None:
    # Summed up in single precision, many equal values have a mean that is none of them.
    samples = np.full((50_000, 1), value, np.float32)
    moments = merged(samples, [20_000])
    np.testing.assert_array_equal(moments.variance, [0.0])
    np.testing.assert_array_equal(moments.normalize(jnp.asarray(samples[0])), [0.0])


def test_integers_are_absorbed_as_numbers() -> None:
    # Frames are bytes: 1 - 255 must not wrap around.
    moments = merged(np.array([[255], [1], [2]], np.uint8))
    np.testing.assert_allclose(moments.mean, [86.0], rtol=1e-6)
    np.testing.assert_allclose(moments.variance, [(169**2 + 85**2 + 84**2) / 3], rtol=1e-6)


def test_whitening_subtracts_the_mean_divides_by_the_deviation_and_clips() -> None:
    moments = merged(np.array([[1.0, 0.0], [5.0, 20.0]], np.float32))  # means 3 and 10, deviations 2 and 10
    samples = jnp.array([[3.0, 10.0], [5.0, -10.0], [100.0, -100.0]])
    normalize = jax.jit(jax.vmap(RunningMeanStd.normalize, in_axes=(None, 0, None)))
    np.testing.assert_allclose(normalize(moments, samples, 5.0), [[0.0, 0.0], [1.0, -2.0], [5.0, -5.0]], rtol=1e-6)
    np.testing.assert_allclose(normalize(moments, samples, 1.5), [[0.0, 0.0], [1.0, -1.5], [1.5, -1.5]], rtol=1e-6)
    np.testing.assert_allclose(moments.normalize(samples[2]), [5.0, -5.0])


# --- ReturnScale --------------------------------------------------------------

#: (T, N) = (3, 2). With gamma = 0.5 the first environment gives 1, 2.5, 5.25, the second 10, 5, 2.5.
REWARDS = jnp.array([[1.0, 10.0], [2.0, 0.0], [4.0, 0.0]])
#: Sum 26.25, sum of squares 166.0625.
MEAN, VARIANCE = 26.25 / 6, 166.0625 / 6 - (26.25 / 6) ** 2

filtered = jax.jit(ReturnScale.update)


def test_the_filter_runs_along_time_separately_for_each_environment() -> None:
    scale = filtered(ReturnScale.empty(2), REWARDS, 0.5)
    np.testing.assert_allclose(scale.filtered, [5.25, 2.5])
    np.testing.assert_allclose(scale.moments.count, 6.0)
    np.testing.assert_allclose(scale.moments.mean, MEAN, rtol=1e-6)
    np.testing.assert_allclose(scale.scale, VARIANCE**0.5, rtol=1e-6)


@pytest.mark.parametrize("cut", [1, 2])
def test_the_filter_is_never_reset_between_rollouts(cut: int) -> None:
    scale = filtered(filtered(ReturnScale.empty(2), REWARDS[:cut], 0.5), REWARDS[cut:], 0.5)
    np.testing.assert_allclose(scale.filtered, [5.25, 2.5])
    np.testing.assert_allclose(scale.moments.count, 6.0)
    np.testing.assert_allclose(scale.scale, VARIANCE**0.5, rtol=1e-6)


def test_the_filter_skips_rewards_that_do_not_count() -> None:
    rewards, counts = (
        jnp.array([[2.0, 1.0], [8.0, 9.0], [4.0, 1.0]]),
        jnp.array([[True] * 2, [True, False], [True] * 2]),
    )
    scale = ReturnScale.empty(2).update(rewards, 0.5, counts)
    np.testing.assert_allclose(scale.filtered, [8.5, 1.5])  # 2, 9, 8.5; and 1, 1.5
    np.testing.assert_allclose(scale.scale, np.std([2, 9, 8.5, 1, 1.5]), rtol=1e-6)


# --- Extrinsic rewards --------------------------------------------------------


def test_the_scale_of_rewards_begins_again_with_each_episode() -> None:
    # Two environments with gamma 0.5. The first: 2, 1 + 1 = 2 (the end), 4; the second: 0, 6, 3 + 0 = 3.
    rewards = jnp.array([[2.0, 0.0], [1.0, 6.0], [4.0, 0.0]])
    ended = jnp.array([[False, False], [True, False], [False, False]])
    for cut in (0, 1, 2):  # rollouts of any length
        scale = RewardScale.empty(2)
        for part in (slice(0, cut), slice(cut, 3)) if cut else (slice(0, 3),):
            scale = scale.update(rewards[part], ended[part], 0.5)
        np.testing.assert_allclose(scale.filtered, [4.0, 3.0])
        np.testing.assert_allclose(scale.scale, np.std([2, 0, 2, 6, 4, 3]), rtol=1e-6)


def test_a_rare_reward_is_at_most_ten_units() -> None:
    scale = RewardScale.empty(1).update(jnp.zeros((99, 1)), jnp.zeros((99, 1), bool), 0.9)
    np.testing.assert_array_equal(scale.scale, 1.0)  # nothing has been rewarded yet
    scale = scale.update(jnp.full((1, 1), -3.0), jnp.ones((1, 1), bool), 0.9)
    np.testing.assert_allclose(scale.scale, 0.3, rtol=1e-6)  # the standard deviation of 99 x 0 and -3 is 0.2985
