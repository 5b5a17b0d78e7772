from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.envs.frame_stack import Frames, push

pushed = jax.jit(jax.vmap(push))
stacked = jax.jit(Frames.stacks)


def numbered(times: int, envs: int) -> np.ndarray:
    """Frames of two pixels, never black: 1 + time and 100 + environment, (times, N, 2)."""
    time, env = np.meshgrid(np.arange(times), np.arange(envs), indexing="ij")
    return np.stack([1 + time, 100 + env], axis=-1).astype(np.uint8)


@pytest.mark.parametrize("depth", [1, 2, 4, 5])
def test_stacks_are_those_that_push_makes_frame_by_frame(depth: int) -> None:
    envs, times = 6, 9
    rng = np.random.default_rng(depth)
    frame = rng.integers(1, 256, size=(depth - 1 + times, envs, 3, 2)).astype(np.uint8)
    for chance in (0.0, 0.15, 0.5, 1.0):
        began = rng.random(frame.shape[:2]) < chance
        stacks = stacked(Frames(jnp.asarray(frame), jnp.asarray(began), depth))
        assert stacks.dtype == jnp.uint8
        stack = jnp.zeros((envs, depth, 3, 2), jnp.uint8)
        for time in range(depth - 1 + times):
            stack = pushed(stack, frame[time], began[time])
            if time >= depth - 1:
                np.testing.assert_array_equal(stacks[time - depth + 1], stack)


def test_a_stack_of_two_by_hand() -> None:
    frame = jnp.array([[10], [11], [12], [13]], jnp.uint8)[..., None]  # one environment, one pixel
    began = jnp.array([[False], [False], [True], [False]])
    stacks = Frames(frame, began, 2).stacks()
    np.testing.assert_array_equal(stacks[:, 0, :, 0], [[10, 11], [0, 12], [12, 13]])


def test_everything_before_the_first_frame_of_an_episode_is_black_for_any_beginnings() -> None:
    # All ways in which four frames can be first ones, each an environment of its own.
    action_modes = np.array(list(product([False, True], repeat=4)))
    frame = numbered(4, len(action_modes))
    stacks = np.asarray(Frames(jnp.asarray(frame), jnp.asarray(action_modes.T), 4).stacks())
    assert stacks.shape == (1, 16, 4, 2)
    for env, mode in enumerate(action_modes):
        begun = max((place for place in range(4) if mode[place]), default=0)
        expected = [[0, 0] if place < begun else [1 + place, 100 + env] for place in range(4)]
        np.testing.assert_array_equal(stacks[0, env], expected)


def test_environments_and_times_do_not_mix_in_a_minibatch_of_environments() -> None:
    frame, began = jnp.asarray(numbered(8, 5)), jnp.zeros((8, 5), bool).at[4, 2].set(True)
    whole = Frames(frame, began, 4)
    chosen = jnp.array([2, 0])
    some: Frames = jax.tree.map(lambda leaf: leaf[:, chosen], whole)
    np.testing.assert_array_equal(some.stacks(), whole.stacks()[:, chosen])
    np.testing.assert_array_equal(some.stacks()[2, 0], [[0, 0], [0, 0], [5, 102], [6, 102]])
    np.testing.assert_array_equal(some.stacks()[2, 1], [[3, 100], [4, 100], [5, 100], [6, 100]])


@pytest.mark.parametrize("depth", [1, 4])
def test_the_newest_frames_are_the_last_of_the_stacks(depth: int) -> None:
    frame = numbered(depth + 4, 3)
    frames = Frames(jnp.asarray(frame), jnp.zeros(frame.shape[:2], bool).at[depth + 1, 1].set(True), depth)
    np.testing.assert_array_equal(frames.newest(), frame[depth - 1 :])
    np.testing.assert_array_equal(frames.newest(), frames.stacks()[:, :, -1])


def test_push_forgets_the_oldest_frame_or_all_of_them() -> None:
    stack = jnp.array([1, 2, 3], jnp.uint8)
    np.testing.assert_array_equal(push(stack, jnp.uint8(4), jnp.asarray(False)), [2, 3, 4])
    np.testing.assert_array_equal(push(stack, jnp.uint8(4), jnp.asarray(True)), [0, 0, 4])


@pytest.mark.parametrize("depth", [1, 3])
def test_single_stacks_are_those_of_their_times_and_environments(depth: int) -> None:
    frame = numbered(depth + 5, 4)
    began = jnp.zeros(frame.shape[:2], bool).at[depth + 1, 2].set(True)
    frames = Frames(jnp.asarray(frame), began, depth)
    times, environments = jnp.array([5, 2, 0, 3]), jnp.array([0, 2, 3, 2])
    np.testing.assert_array_equal(frames.at(times, environments), frames.stacks()[times, environments])


def test_stacks_of_zeros_and_ones_need_no_more_memory_than_their_frames() -> None:
    frame, began = jnp.ones((3, 1, 2), bool), jnp.zeros((3, 1), bool).at[1].set(True)
    stacks, pushed_last = Frames(frame, began, 2).stacks(), push(frame[:2, 0], frame[2, 0], jnp.array(True))
    assert stacks.dtype == pushed_last.dtype == jnp.bool_
    assert stacks[:, 0].tolist() == [[[False] * 2, [True] * 2], [[True] * 2] * 2]
    assert pushed_last.tolist() == [[False] * 2, [True] * 2]
