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


@pytest.mark.parametrize("depth", [1, 4])
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


def test_push_forgets_the_oldest_frame_or_all_of_them() -> None:
    stack = jnp.array([1, 2, 3], jnp.uint8)
    np.testing.assert_array_equal(push(stack, jnp.uint8(4), jnp.asarray(False)), [2, 3, 4])
    np.testing.assert_array_equal(push(stack, jnp.uint8(4), jnp.asarray(True)), [0, 0, 4])


@pytest.mark.parametrize("depth", [1, 3])
def test_single_stacks_are_those_of_their_times_and_environments(depth: int) -> None:
    frame = numbered(depth + 5, 4)
    began = jnp.zeros(frame.shape[:2], bool).at[depth + 1, 2].set(True)
    frames = Frames(jnp.asarray(frame), began, depth)
    np.testing.assert_array_equal(frames.newest(), frames.stacks()[:, :, -1])
    times, environments = jnp.array([5, 2, 0, 3]), jnp.array([0, 2, 3, 2])
    np.testing.assert_array_equal(frames.at(times, environments), frames.stacks()[times, environments])
