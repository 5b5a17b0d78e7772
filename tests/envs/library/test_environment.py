import jax
import jax.numpy as jnp
import numpy as np
import pytest
from ladder import Ladder

from action_balance.envs.base import Step
from action_balance.envs.library.environment import LibraryEnvironment, LibraryState

ENVS = 8


@pytest.fixture(scope="module")
def climbed() -> tuple[LibraryState, Step]:
    """All of 8 ladders, climbed for 5 steps; axes (5, 8)."""
    environment = LibraryEnvironment(Ladder(), max_steps=4)

    def step(state: LibraryState, keys: jax.Array) -> tuple[LibraryState, tuple[LibraryState, Step]]:
        state, outcome = jax.vmap(environment.step)(state, jnp.ones(ENVS, jnp.int32), keys)
        return state, (state, outcome)

    state, _ = jax.vmap(environment.reset)(jax.random.split(jax.random.key(0), ENVS))
    state = LibraryState({**state.library, "rung": jnp.zeros(ENVS, jnp.int32)}, state.steps)  # all begin below
    keys = jax.random.split(jax.random.key(1), (5, ENVS))
    return jax.jit(lambda: jax.lax.scan(step, state, keys)[1])()


def test_the_observation_that_ended_an_episode_is_kept_while_the_next_one_begins(
    climbed: tuple[LibraryState, Step],
) -> None:
    state, step = climbed
    assert np.asarray(step.terminated).sum(axis=1).tolist()[:3] == [0, 0, ENVS]  # rungs 1, 2, 3
    assert (np.asarray(step.next_obs)[2, :, 0] == 3).all()
    first = np.asarray(step.observation)[2]
    assert set(first[:, 0].tolist()) == {0.0, 1.0}  # each environment has a key of its own
    assert (first[:, 0] == first[:, 1]).all()
    assert np.asarray(state.library["rung"])[2].tolist() == first[:, 0].tolist()
    assert np.asarray(state.steps)[:4, 0].tolist() == [1, 2, 0, 1]


def test_the_info_is_that_of_the_episode_that_ended(climbed: tuple[LibraryState, Step]) -> None:
    _, step = climbed
    assert np.asarray(step.info["climbed"])[:4, 0].tolist() == [1, 2, 3, 1]
    assert np.asarray(step.reward)[:3, 0].tolist() == [0, 0, 3]


def test_the_time_limit_truncates_and_does_not_terminate() -> None:
    environment = LibraryEnvironment(Ladder(), max_steps=2)
    state, _ = environment.reset(jax.random.key(0))
    ends = []
    for _ in range(3):
        state, step = environment.step(state, jnp.zeros((), jnp.int32), jax.random.key(1))
        ends.append((bool(step.terminated), bool(step.truncated), int(state.steps)))
    assert ends == [(False, False, 1), (False, True, 0), (False, False, 1)]
