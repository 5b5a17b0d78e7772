"""The host-stepped loop, which `benchmarks/agent.py` compares with, is the same agent in the same environment."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import plain_grid
from host_stepped import GridEnv, HostLoop

from action_balance.algorithms import learner, rollout
from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.config.agent import AgentConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.network import NetworkConfig
from action_balance.envs.base import Step
from action_balance.envs.grid.dynamics import GridState
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.maps import open_world, parse_map
from action_balance.envs.grid.world import GridWorld

WORLD = parse_map("..G\n.#.\nS..\n", episode_steps=6)
SMALL = AgentConfig(
    envs=4,
    algorithm=PPOConfig(rollout_steps=16, epochs=2, minibatches=2, learning_rate=1e-2),
    exploration=ExplorationConfig(warmup_rollouts=2),
    network=NetworkConfig(hidden=8, bonus_hidden=8, bonus_outputs=4),
)


def plain(world: GridWorld) -> plain_grid.World:
    return plain_grid.World(
        world.width,
        world.height,
        set(np.flatnonzero(world.walls).tolist()),
        int(world.start),
        set(np.flatnonzero(world.goals).tolist()),
        int(world.episode_steps),
    )


def test_default_plain_world_is_the_open_grid() -> None:
    assert plain(open_world()) == plain_grid.World()


def test_host_environment_has_the_same_observations_and_rewards_as_the_jax_environment() -> None:
    environment, host = GridEnvironment(WORLD), GridEnv(plain(WORLD))
    actions = np.random.default_rng(0).integers(0, 4, 200)
    key = jax.random.key(0)
    state, observation = environment.reset(key)
    assert host.spec.shape == environment.spec.shape
    assert host.spec.nvec == environment.spec.nvec
    assert np.array_equal(host.reset()[0], observation)

    def step(state: GridState, action: jax.Array) -> tuple[GridState, Step]:
        return environment.step(state, action, key)

    outcomes = jax.lax.scan(step, state, jnp.asarray(actions))[1]
    for time, action in enumerate(actions.tolist()):
        next_obs, reward, terminated, truncated, _ = host.step(action)
        assert np.array_equal(next_obs, outcomes.next_obs[time])
        assert reward == outcomes.reward[time]
        assert terminated == outcomes.terminated[time]
        assert truncated == outcomes.truncated[time]
        following = host.reset()[0] if terminated or truncated else next_obs
        assert np.array_equal(following, outcomes.observation[time])
    assert outcomes.terminated.any()
    assert outcomes.truncated.any()


def test_host_stepped_updates_are_those_of_the_fused_program() -> None:
    environment = GridEnvironment(WORLD)
    algorithm = make_algorithm(SMALL, environment.spec)
    host = HostLoop([GridEnv(plain(WORLD)) for _ in range(SMALL.envs)], SMALL)
    train_step = eqx.filter_jit(lambda state: learner.train_step(environment, state, algorithm))
    fused_rollout = eqx.filter_jit(lambda state: rollout.rollout(environment, state, algorithm))
    fused = eqx.filter_jit(lambda key: learner.init_state(environment, algorithm, key))(jax.random.key(0))
    stepped = host.start(fused)
    for update in range(3):
        expected = fused_rollout(fused)[1]
        stepped, trajectory = host.rollout(stepped)
        for name in ("observation", "next_obs", "action", "reward", "terminated", "truncated"):
            assert np.array_equal(getattr(trajectory, name), getattr(expected, name)), name
        for name in ("log_prob", "preferences", "action_bonus", "values"):
            np.testing.assert_allclose(getattr(trajectory, name), getattr(expected, name), rtol=1e-4, atol=1e-5)
        fused, _ = train_step(fused)
        stepped, _ = host.learn(stepped, trajectory)
        assert stepped.updates == fused.updates == update + 1
    for one, other in zip(jax.tree.leaves(stepped.params), jax.tree.leaves(fused.params), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    assert np.array_equal(jax.random.key_data(stepped.key), jax.random.key_data(fused.key))
