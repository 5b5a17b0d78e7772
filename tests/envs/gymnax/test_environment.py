from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import gymnasium
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


@pytest.mark.parametrize(
    ("name", "fields"),
    [("Pendulum-v1", ("theta", "theta_dot")), ("MountainCarContinuous-v0", ("position", "velocity"))],
)
def test_forces_move_the_world_as_in_gymnasium(name: str, fields: tuple[str, str]) -> None:
    bounded, theirs = GymnaxConfig(f"gymnax:{name}").make(KEY), gymnasium.make(name)
    (_, most), first = bounded.spec.bounds[0], (0.3, 0.02)
    theirs.reset()
    theirs.unwrapped.state = np.array(first)  # type: ignore[attr-defined]
    state, _ = bounded.reset(KEY)
    library = replace(state.library, **dict(zip(fields, map(jnp.array, first), strict=True)))
    state, step = LibraryState(library, state.steps), jax.jit(bounded.step)
    assert most is not None
    for share in (1.0, -0.5, 0.0, 1.0):
        force = np.array([share * most], np.float32)
        state, outcome = step(state, jnp.asarray(force), KEY)
        seen, reward, *_ = theirs.step(force)
        np.testing.assert_allclose(np.asarray(outcome.next_obs), seen, atol=1e-5)
        assert float(outcome.reward) == pytest.approx(float(reward), abs=1e-5)


def test_a_torque_reaches_the_pendulum_as_it_is_and_its_time_limit_is_no_end_of_the_task() -> None:
    pendulum = GymnaxConfig("gymnax:Pendulum-v1").make(KEY)
    assert pendulum.spec == EnvSpec("vector", (3,), (), normalize_obs=True, bounds=((-2.0, 2.0),))
    state, _ = pendulum.reset(KEY)
    upright = replace(state.library, theta=jnp.array(0.0), theta_dot=jnp.array(1.0), time=jnp.array(199))
    _, step = pendulum.step(LibraryState(upright, jnp.array(199)), jnp.array([2.0]), KEY)
    speed = 1 + 3 * 2.0 * 0.05  # gravity has no effect here
    assert np.asarray(step.next_obs) == pytest.approx([np.cos(0.05 * speed), np.sin(0.05 * speed), speed])
    assert float(step.reward) == pytest.approx(-(0.1 * 1**2 + 0.001 * 2.0**2))
    assert (bool(step.terminated), bool(step.truncated)) == (False, True)


def test_the_task_of_the_continuous_mountain_car_ends_at_its_goal() -> None:
    car = GymnaxConfig("gymnax:MountainCarContinuous-v0").make(KEY)
    state, _ = car.reset(KEY)
    near = replace(state.library, position=jnp.array(0.44), velocity=jnp.array(0.05))
    _, step = car.step(LibraryState(near, state.steps), jnp.array([1.0]), KEY)
    assert (bool(step.terminated), bool(step.truncated)) == (True, False)
    assert float(step.reward) == pytest.approx(100 - 0.1)


class Matrix(Line):
    """Adds two rows of two numbers to its place; rewards and ends keep an axis, as in some versions of gymnax."""

    def action_space(self, params: Any) -> SimpleNamespace:
        del params
        low = jnp.array([[-1.0, -jnp.inf], [0.0, -3.4e38]])
        return SimpleNamespace(low=low, high=3, shape=(2, 2))

    def reset_env(self, key: Any, params: Any) -> tuple[Any, Any]:
        del key, params
        return jnp.zeros((2, 2)), jnp.zeros((2, 2))

    def step_env(self, key: Any, state: Any, action: Any, params: Any) -> tuple[Any, ...]:
        del key, params
        reached = state + action
        return reached, reached, reached[:1, 1], reached[1, :1] > 2, {}


def test_real_numbers_of_any_shape_are_one_vector_for_the_agent() -> None:
    one = environment(Matrix())
    assert one.spec.bounds == ((-1, 3), (None, 3), (0, 3), (None, 3))
    state, _ = one.reset(KEY)
    _, step = jax.jit(one.step)(state, jnp.array([1.0, 2.0, 3.0, 4.0]), KEY)
    assert np.asarray(step.next_obs).tolist() == [1, 2, 3, 4]
    assert (float(step.reward), bool(step.terminated)) == (2.0, True)


class Whole(Line, Resetting):
    """Has all methods of gymnax, which a wrapper passes on as if they were its own."""


#: An environment without parameters.
Unlimited: Any = type("Unlimited", (Line,), {"default_params": None})


class Growing(Line):
    """Whose observation has another shape after a step."""

    def step_env(self, key: Any, state: Any, action: Any, params: Any) -> tuple[Any, ...]:
        obs, *rest = super().step_env(key, state, action, params)
        return jnp.append(obs, 0), *rest


class Spreading(Matrix):
    """Whose state has another shape after a step."""

    def step_env(self, key: Any, state: Any, action: Any, params: Any) -> tuple[Any, ...]:
        obs, reached, *rest = super().step_env(key, state, action, params)
        return obs, reached[None], *rest


class Several(Matrix):
    """Whose reward is several numbers."""

    def step_env(self, key: Any, state: Any, action: Any, params: Any) -> tuple[Any, ...]:
        obs, reached, _, *rest = super().step_env(key, state, action, params)
        return obs, reached, jnp.zeros(2), *rest


#: Environments with action spaces that agents have no actions for.
Unknown: Any = type("Unknown", (Line,), {"action_space": lambda *_: SimpleNamespace()})
Integers: Any = type(
    "Integers", (Line,), {"action_space": lambda *_: SimpleNamespace(low=0, high=3, shape=(2,), dtype=jnp.int32)}
)


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (Unknown(), "an action space of kind SimpleNamespace: agents need choices"),
        (Integers(), "or real numbers"),
        (Spreading(), r"states and observations of the same shape, .* not \(2, 2\) and \(1, 2, 2\)"),
        (Several(), r"a reward of shape \(2,\)"),
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
