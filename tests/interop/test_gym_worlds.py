"""The worlds in Gymnasium are those that JAX steps, alone and N at once."""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import action_balance.gym
from action_balance.envs import picture
from action_balance.envs import tables as transitions
from action_balance.envs.base import Environment, Step
from action_balance.envs.deep_sea.environment import DeepSea
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.maps import corridor_world, goal_world, open_world
from action_balance.errors import UserError
from action_balance.films import pixels

gymnasium.register_envs(action_balance.gym)

IDS = ("ActionBalance/Grid-v0", "ActionBalance/Corridor-v0", "ActionBalance/DeepSea-v0")


def sea(n: int, seed: int) -> DeepSea:
    """The sea of JAX in which the same actions move right."""
    environment = DeepSea(n, jax.random.key(0))
    right_is = np.random.default_rng(seed).integers(2, size=n)
    return eqx.tree_at(lambda one: one.right_is, environment, jnp.asarray(right_is, jnp.int32))


#: Our name, its options, and the same world for JAX.
SAME: dict[str, tuple[str, dict[str, Any], Callable[[], Environment]]] = {
    "coordinates": (
        IDS[0],
        {"size": 7, "episode_steps": 30, "view": "coordinates"},
        lambda: GridEnvironment(open_world(7, 30), "coordinates"),
    ),
    "a goal nearby": (
        IDS[0],
        {"size": 3, "episode_steps": 9, "goal": (2, 1)},
        lambda: GridEnvironment(goal_world((2, 1), 3, 9)),
    ),
    "a small corridor": (
        IDS[1],
        {"size": 3, "length": 2, "episode_steps": 25, "view": "coordinates"},
        lambda: GridEnvironment(corridor_world(3, 2, 25), "coordinates"),
    ),
    "a shallow sea": (IDS[2], {"n": 3, "seed": 5}, lambda: sea(3, 5)),
}


@eqx.filter_jit
def play(environment: Environment, actions: jax.Array) -> Step:
    """What each action brings, from the start on."""
    key = jax.random.key(0)
    return jax.lax.scan(lambda state, action: environment.step(state, action, key), environment.reset(key)[0], actions)[
        1
    ]


@pytest.mark.parametrize(("name", "options", "ours"), SAME.values(), ids=SAME.keys())
def test_random_actions_bring_what_they_bring_in_jax(
    name: str, options: dict[str, Any], ours: Callable[[], Environment]
) -> None:
    env = gymnasium.make(name, **options)
    environment = ours()
    actions = np.random.default_rng(1).integers(environment.spec.nvec[0], size=1500)
    expected = jax.tree.map(np.asarray, play(environment, jnp.asarray(actions)))
    # One-hot views are equal to the last bit; JAX may divide coordinates in another order.
    rounding = 1e-6 if options.get("view") == "coordinates" else 0.0
    first, _ = env.reset()
    np.testing.assert_allclose(first, environment.reset(jax.random.key(0))[1], rtol=0, atol=rounding)
    reached, following, rewards, terminated, truncated = [], [], [], [], []
    for action in actions:
        observation, reward, task_ended, time_over, _ = env.step(action)
        reached.append(observation)
        following.append(env.reset()[0] if task_ended or time_over else observation)
        rewards.append(float(reward))
        terminated.append(task_ended)
        truncated.append(time_over)
    np.testing.assert_allclose(reached, expected.next_obs, rtol=0, atol=rounding)
    np.testing.assert_allclose(following, expected.observation, rtol=0, atol=rounding)
    np.testing.assert_array_equal(np.array(rewards, np.float32), expected.reward)
    np.testing.assert_array_equal(terminated, expected.terminated)
    np.testing.assert_array_equal(truncated, expected.truncated)
    assert any(terminated) or any(truncated)


def test_goals_and_treasures_are_found_in_these_games() -> None:
    """What the test above compares has rewards in it."""
    for name in ("a goal nearby", "a small corridor", "a shallow sea"):
        environment = SAME[name][2]()
        actions = np.random.default_rng(1).integers(environment.spec.nvec[0], size=1500)
        assert (np.asarray(play(environment, jnp.asarray(actions)).reward) > 0.9).any()


@pytest.mark.parametrize(("name", "options"), [case[:2] for case in SAME.values()], ids=SAME.keys())
def test_the_checker_of_gymnasium_has_no_complaint(name: str, options: dict[str, Any]) -> None:
    env = gymnasium.make(name, render_mode="rgb_array", **options)
    check_env(env.unwrapped)
    env.close()


@pytest.mark.parametrize(("name", "options"), [case[:2] for case in SAME.values()], ids=SAME.keys())
def test_many_at_once_do_what_one_by_one_does(name: str, options: dict[str, Any]) -> None:
    options = {**options, "render_mode": "rgb_array"}
    at_once = gymnasium.make_vec(name, num_envs=5, vectorization_mode="vector_entry_point", **options)
    one_by_one = gymnasium.make_vec(name, num_envs=5, vectorization_mode="sync", **options)
    assert at_once.metadata["autoreset_mode"] == one_by_one.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    assert at_once.observation_space == one_by_one.observation_space
    assert at_once.action_space == one_by_one.action_space
    for ours, theirs in zip(at_once.reset(seed=3), one_by_one.reset(seed=3), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    at_once.action_space.seed(4)
    for turn in range(250):
        actions = at_once.action_space.sample()
        for ours, theirs in zip(at_once.step(actions), one_by_one.step(actions), strict=True):
            np.testing.assert_array_equal(ours, theirs)
            assert getattr(ours, "dtype", None) == getattr(theirs, "dtype", None)
        if turn % 50 < 3:
            for ours, theirs in zip(at_once.render() or (), one_by_one.render() or (), strict=True):
                np.testing.assert_array_equal(ours, theirs)
    one_by_one.close()
    at_once.close()


def test_some_of_many_can_begin_anew() -> None:
    envs = gymnasium.make_vec(IDS[0], num_envs=3, size=4, view="coordinates")
    envs.reset()
    envs.step(np.array([1, 1, 1]))
    observations, _ = envs.reset(options={"reset_mask": np.array([False, True, False])})
    np.testing.assert_allclose(observations, np.array([[-1 / 3, -1], [-1, -1], [-1 / 3, -1]]), atol=1e-6)


def test_a_seed_of_a_reset_changes_nothing_and_that_of_a_sea_its_actions() -> None:
    env = gymnasium.make(IDS[2], n=4)
    np.testing.assert_array_equal(env.reset(seed=1)[0], env.reset(seed=2)[0])
    assert {transitions.deep_sea(12, seed).successor.tobytes() for seed in (0, 0, 1, 2)} == {
        transitions.deep_sea(12, seed).successor.tobytes() for seed in (2, 1, 0)
    }
    assert (transitions.deep_sea(12, 0).successor != transitions.deep_sea(12, 1).successor).any()


def test_the_treasure_of_a_sea_costs_what_the_way_costs() -> None:
    env = gymnasium.make(IDS[2], n=2, seed=0)
    right_is = np.random.default_rng(0).integers(2, size=2)
    env.reset()
    assert env.step(right_is[0])[1:4] == (np.float32(-0.005), False, False)
    observation, reward, terminated, truncated, _ = env.step(right_is[1])
    assert (reward, terminated, truncated) == (np.float32(0.995), True, False)
    np.testing.assert_array_equal(observation, np.zeros(4))


def test_actions_that_are_none_are_refused() -> None:
    env = gymnasium.make(IDS[0]).unwrapped
    env.reset()
    with pytest.raises(InvalidAction, match="must be from 0 to 3"):
        env.step(-1)
    envs = gymnasium.make_vec(IDS[0], num_envs=2)
    envs.reset()
    with pytest.raises(InvalidAction, match="must be from 0 to 3"):
        envs.step(np.array([0, 4]))
    with pytest.raises(InvalidAction, match="2 integers"):
        envs.step(np.array([0.0, 1.0]))


def test_a_step_needs_an_episode() -> None:
    env = gymnasium.make(IDS[0], episode_steps=1).unwrapped
    with pytest.raises(ResetNeeded):
        env.step(0)
    env.reset()
    assert env.step(0)[3]
    with pytest.raises(ResetNeeded):
        env.step(0)
    with pytest.raises(ResetNeeded):
        gymnasium.make_vec(IDS[0], num_envs=2).step(np.array([0, 0]))


@pytest.mark.parametrize(
    ("name", "options", "hint"),
    [
        (IDS[0], {"size": 1}, "2 or more"),
        (IDS[1], {"episode_steps": 3}, "increase --episode-steps"),
        (IDS[2], {"n": 1}, "2 or more"),
    ],
)
def test_worlds_that_cannot_be_are_one_line(name: str, options: dict[str, Any], hint: str) -> None:
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(UserError, match=hint):
            make(name, **options)


def test_the_picture_has_walls_trail_goal_and_agent_where_they_are() -> None:
    env = gymnasium.make(IDS[1], size=3, length=2, render_mode="rgb_array")  # 8 x 3 cells of 48 pixels
    env.reset()
    for action in (1, 1, 2):  # right, right, up: from the corridor's second cell (4, 1) to (6, 2)
        env.step(action)
    shown = np.asarray(env.render())
    assert shown.shape == (3 * 48, 8 * 48, 3)
    assert shown.dtype == np.uint8

    def at(x: int, y: int, corner: int = 3) -> tuple[int, ...]:
        return tuple(int(part) for part in shown[(2 - y) * 48 + corner, x * 48 + corner])

    assert at(3, 2) == at(4, 0) == picture.WALL
    assert at(0, 0) == at(2, 2) == at(3, 1) == picture.FREE
    assert at(0, 0, corner=47) == picture.PAPER
    assert at(6, 2, corner=23) == picture.AGENT
    assert at(7, 2, corner=23) == picture.GOAL
    assert at(6, 2) == pixels.blend(pixels.BONUS, picture.strength(0))
    assert at(6, 1) == pixels.blend(pixels.BONUS, picture.strength(1))
    assert at(4, 1) == pixels.blend(pixels.BONUS, picture.strength(3))


def test_the_package_does_not_need_gymnasium() -> None:
    program = """
import sys
sys.modules["gymnasium"] = None
import action_balance, action_balance.cli
try:
    import action_balance.gym
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == (
        "gymnasium is not installed, but action_balance.gym needs it: "
        'pip install -c constraints.txt ".[gym]" in the folder of action-balance\n'
    )
