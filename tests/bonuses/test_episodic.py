"""State of episodes: cleared at their ends and only there."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from action_balance.bonuses.base import Transitions
from action_balance.bonuses.episodic import scan_episodes


def add(total: Array, value: Array) -> tuple[Array, Array]:
    return total + value, total + value


def test_a_memory_is_cleared_after_the_last_step_of_an_episode_and_only_there() -> None:
    values = jnp.array([[1, 10], [2, 20], [4, 40], [8, 80]])
    ended = jnp.array([[False, False], [True, False], [False, False], [False, True]])
    totals, sums = scan_episodes(add, jnp.zeros_like, jnp.array([100, 0]), values, ended)
    assert sums.tolist() == [[101, 10], [103, 30], [4, 70], [12, 150]]
    assert totals.tolist() == [12, 0]


def test_two_rollouts_give_the_same_as_one_of_both() -> None:
    values = jax.random.normal(jax.random.key(0), (4, 2))
    ended = jnp.array([[False, False], [True, False], [False, False], [False, True]])
    whole, outputs = scan_episodes(add, jnp.zeros_like, jnp.zeros(2), values, ended)
    half, first = scan_episodes(add, jnp.zeros_like, jnp.zeros(2), values[:2], ended[:2])
    again, second = scan_episodes(add, jnp.zeros_like, half, values[2:], ended[2:])
    assert jnp.concatenate([first, second]).tolist() == outputs.tolist()
    assert again.tolist() == whole.tolist()


def test_terminal_states_and_time_limits_end_episodes() -> None:
    zeros, no, yes = jnp.zeros(4, jnp.int32), False, True
    terminated, truncated = jnp.array([no, yes, no, yes]), jnp.array([no, no, yes, yes])
    transitions = Transitions(zeros, zeros, zeros, zeros, zeros, terminated, truncated)
    assert transitions.ended.tolist() == [no, yes, yes, yes]
