"""The host-stepped loop that `benchmarks/agent.py` measures against is the same agent in the same world."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import plain_grid
from host_stepped import GridEnv, HostTrainer

from action_balance.agent import learner as train
from action_balance.agent import rollout
from action_balance.config.agent import BonusConfig, Config, NetConfig, PPOConfig
from action_balance.envs.base import Step
from action_balance.envs.grid.dynamics import GridState
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.maps import open_world, parse_map
from action_balance.envs.grid.world import GridWorld

WORLD = parse_map("..G\n.#.\nS..\n", episode_steps=6)
SMALL = Config(
    envs=4,
    ppo=PPOConfig(rollout_steps=16, epochs=2, minibatches=2, learning_rate=1e-2),
    bonus=BonusConfig(warmup_rollouts=2),
    net=NetConfig(hidden=8, bonus_hidden=8, bonus_outputs=4),
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


def test_host_environment_shows_and_pays_what_the_jax_environment_does() -> None:
    environment, host = GridEnvironment(WORLD), GridEnv(plain(WORLD))
    actions = np.random.default_rng(0).integers(0, 4, 200)
    key = jax.random.key(0)
    state, seen = environment.reset(key)
    assert np.array_equal(host.reset()[0], seen)

    def step(state: GridState, action: jax.Array) -> tuple[GridState, Step]:
        return environment.step(state, action, key)

    brought = jax.lax.scan(step, state, jnp.asarray(actions))[1]
    for time, action in enumerate(actions.tolist()):
        reached, reward, terminated, truncated, _ = host.step(action)
        assert np.array_equal(reached, brought.next_obs[time])
        assert reward == brought.reward[time]
        assert terminated == brought.terminated[time]
        assert truncated == brought.truncated[time]
        following = host.reset()[0] if terminated or truncated else reached
        assert np.array_equal(following, brought.observation[time])
    assert brought.terminated.any()
    assert brought.truncated.any()


def test_host_stepped_updates_are_those_of_the_fused_program() -> None:
    config, environment = SMALL, GridEnvironment(WORLD)
    host = HostTrainer([GridEnv(plain(WORLD)) for _ in range(config.envs)], config)
    fused = eqx.filter_jit(lambda state: train.train_step(environment, state, config))
    fused_rollout = eqx.filter_jit(lambda state: rollout.rollout(environment, state, config))
    ours = eqx.filter_jit(lambda key: train.begin(environment, config, key))(jax.random.key(0))
    theirs = host.begin(ours)
    for _ in range(3):
        trajectory = fused_rollout(ours)[1]
        before = theirs
        theirs, stepped = host.rollout(theirs)
        for name in ("observation", "reached", "action", "reward", "terminated", "truncated"):
            assert np.array_equal(getattr(stepped, name), getattr(trajectory, name)), name
        for name in ("log_prob", "logits", "action_bonus", "values"):
            np.testing.assert_allclose(getattr(stepped, name), getattr(trajectory, name), rtol=1e-4, atol=1e-5)
        ours, _ = fused(ours)
        theirs, _ = host.learn(theirs, stepped)
        assert theirs.updates == before.updates + 1
    for mine, other in zip(jax.tree.leaves(ours.params), jax.tree.leaves(theirs.params), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-4)
    assert np.array_equal(jax.random.key_data(ours.key), jax.random.key_data(theirs.key))
