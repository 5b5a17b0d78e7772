from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax_cases import Honest, Line, Params, Resetting, Wrapper

from action_balance.envs.base import Step
from action_balance.envs.gymnax.config import GymnaxConfig
from action_balance.envs.gymnax.environment import GymnaxAdapter
from action_balance.envs.library.environment import LibraryEnvironment, LibraryState
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

KEY, RIGHT = jax.random.key(0), jnp.ones((), jnp.int32)


def environment(env: Any, **settings: Any) -> LibraryEnvironment:
    """One with the interface of gymnax."""
    adapter = GymnaxAdapter("gymnax:it", env, **settings)
    return LibraryEnvironment(adapter, adapter.episode_steps)


def walk(one: LibraryEnvironment, actions: list[int]) -> list[Step]:
    """The steps of these actions, from a first state on."""
    state, _ = one.reset(KEY)
    step, found = jax.jit(one.step), []
    for action in actions:
        state, outcome = step(state, jnp.array(action), KEY)
        found.append(outcome)
    return found


def test_the_last_observation_of_an_episode_is_where_the_cart_left_the_track() -> None:
    cart = GymnaxConfig("gymnax:CartPole-v1").make(KEY)
    state, first = cart.reset(KEY)
    fast = LibraryState(replace(state.library, x=jnp.array(2.39), x_dot=jnp.array(5.0)), state.steps)
    following, step = cart.step(fast, RIGHT, KEY)
    assert np.asarray(step.next_obs)[0] == pytest.approx(2.39 + 0.02 * 5)  # more than 2.4: the end
    assert (bool(step.terminated), bool(step.truncated), float(step.reward)) == (True, False, 1.0)
    assert np.abs(np.asarray(step.observation)).max() <= 0.05  # where every episode begins
    assert float(following.library.x) == float(step.observation[0])
    assert (first.dtype, cart.episode_steps, int(following.steps)) == (jnp.float32, 500, 0)


def test_the_time_limit_is_told_from_the_end_of_the_task() -> None:
    found = walk(environment(Line()), [1, 1, 1, 0, 0, 0, 0])
    ends = [(bool(one.terminated), bool(one.truncated)) for one in found]
    assert ends == [(False, False), (False, False), (True, False), *[(False, False)] * 3, (False, True)]
    assert [float(one.reward) for one in found] == [0, 0, 1, 0, 0, 0, 0]
    assert np.asarray(found[2].next_obs).tolist() == [3, 0.75]
    assert np.asarray(found[2].observation).tolist() == [0, 0]
    assert np.asarray(found[6].next_obs).tolist() == [0, 1]


def test_another_time_limit_is_also_that_of_the_environment() -> None:
    one = environment(Line(), params=Params(max_steps_in_episode=9), max_steps=2)
    found = walk(one, [1, 1])
    assert (bool(found[1].terminated), bool(found[1].truncated)) == (False, True)
    assert np.asarray(found[1].next_obs).tolist() == [2, 1]  # of 2 steps, both are made


def test_a_step_that_begins_no_episode_is_used_with_both_of_its_ends_and_a_discrete_observation_is_one_hot() -> None:
    one = environment(Honest(), max_steps=4)
    assert one.spec == EnvSpec("vector", (4,), (2,), discrete=(4,))
    found = walk(one, [1, 1, 1, 0, 0, 0, 0])
    assert [bool(step.terminated) for step in found] == [False, False, True, False, False, False, False]
    assert [bool(step.truncated) for step in found] == [*[False] * 6, True]
    assert np.asarray(found[2].next_obs).tolist() == [0, 0, 0, 1]
    assert np.asarray(found[2].observation).tolist() == [1, 0, 0, 0]


class Whole(Line, Resetting):
    """Has all methods of gymnax, which a wrapper passes on as if they were its own."""


#: An environment without parameters.
Unlimited: Any = type("Unlimited", (Line,), {"default_params": None})


class Growing(Line):
    """Whose observation has another shape after a step."""

    def step_env(self, key: Any, state: Any, action: Any, params: Any) -> tuple[Any, ...]:
        obs, *rest = super().step_env(key, state, action, params)
        return jnp.append(obs, 0), *rest


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Resetting(), "step hides the last observation of an episode: give its class step_env and reset_env"),
        (Wrapper(Whole()), "has step but no step_env"),
        (Unlimited(), "has no time limit in its parameters"),
        (Growing(), "observations of the same shape"),
    ],
)
def test_an_environment_that_cannot_be_used_is_one_line(env: Any, message: str) -> None:
    with pytest.raises(UserError, match=message) as error:
        environment(env)
    assert "\n" not in str(error.value)
