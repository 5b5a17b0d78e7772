"""Mixed frames on the device: their parts, their statistics, and the numbers of discrete states, by hand."""

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.core.running_stats import RunningMeanStd
from action_balance.envs.mixed import MixedStats, empty_stats, split_frame, split_images, state_number
from action_balance.envs.spec import EnvSpec

SPEC = EnvSpec("mixed", (4 + 8,), (2,), "uint8", normalize_obs=True, images=((2, 1, 1), (1, 1, 2)))


def frame(pixels: list[int], vector: list[float]) -> np.ndarray:
    return np.concatenate([np.array(pixels, np.uint8), np.array(vector, np.float32).view(np.uint8)])


def test_a_frame_is_split_into_its_images_and_its_vector() -> None:
    frames = jnp.stack([frame([1, 2, 3, 4], [0.5, -7]), frame([5, 6, 7, 255], [1e9, 0])])
    pixels, vector = split_frame(frames, SPEC.pixels)
    assert vector.tolist() == [[0.5, -7], [1e9, 0]]
    first, second = split_images(pixels, SPEC.images)
    assert (first[1].tolist(), second[1].tolist()) == ([[[5]], [[6]]], [[[7, 255]]])
    assert split_frame(jnp.zeros((3, 12), jnp.uint8), 4)[1].tolist() == [[0, 0]] * 3  # what stacks begin with


def test_statistics_are_those_of_the_numbers_and_not_of_their_bytes() -> None:
    rows = [([0, 10, 3, 4], [1.0, -1]), ([2, 30, 3, 4], [3.0, -1]), ([4, 20, 3, 4], [8.0, -1])]
    stats = empty_stats(SPEC)
    assert isinstance(stats, MixedStats)
    update = jax.jit(lambda stats, frames: stats.update(frames))
    stats = update(update(stats, jnp.stack([frame(*rows[0])])), jnp.stack([frame(*one) for one in rows[1:]]))
    assert stats.count == 3
    np.testing.assert_allclose(stats.mean, [2, 20, 3, 4, 4, -1], rtol=1e-6)
    np.testing.assert_allclose(stats.variance, [8 / 3, 200 / 3, 0, 0, 26 / 3, 0], rtol=1e-5, atol=1e-6)
    shown = stats.normalize(jnp.asarray(frame([6, 20, 3, 4], [4 + 26 / 3, -1])), 2.0)
    np.testing.assert_allclose(shown, [2, 0, 0, 0, 2, 0], atol=1e-5)  # clipped from 2.45 and 2.94
    np.testing.assert_allclose(stats.normalize_vector(jnp.array([4.0, -1])), [0, 0], atol=1e-6)
    assert type(empty_stats(EnvSpec("vector", (3,), (2,)))) is RunningMeanStd


def test_discrete_states_are_numbered() -> None:
    spec = EnvSpec("vector", (5,), (2,), discrete=(2, 3))
    frames = jnp.array([[1, 0, 1, 0, 0], [1, 0, 0, 0, 1], [0, 1, 1, 0, 0], [0, 1, 0, 0, 1]], jnp.float32)
    assert state_number(spec, frames).tolist() == [0, 2, 3, 5]
    assert state_number(EnvSpec("vector", (5,), (2,)), frames).tolist() == [0] * 4
