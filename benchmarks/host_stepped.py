"""The same agent, stepped from the host: environments in Python, one device call per step.

Most programs train this way: the device computes actions, the host steps the environments one after the other and
sends the observations back, and an update follows each rollout. Acting, balancing and learning are the package's code;
the environments and the loop are not. The tests check that it computes the same updates as the fused program, and
`benchmarks/agent.py` compares the speed of the two. Axes: T steps, N environments, A actions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import plain_grid

from action_balance.algorithms import update
from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.rollout import act, make_actor
from action_balance.algorithms.state import Actor, TrainState, Trajectory, UpdateInfo
from action_balance.config.agent import AgentConfig
from action_balance.envs.spec import EnvSpec


class GridEnv:
    """One grid world with the interface of Gymnasium; an observation is the column and the row, each one-hot."""

    def __init__(self, world: plain_grid.World) -> None:
        self.world = world
        self.spec = EnvSpec("vector", (world.width + world.height,), (len(plain_grid.MOVES),))
        self.cell = world.start
        self.time = 0

    def observe(self) -> np.ndarray:
        """The observation of the current cell, (width + height,)."""
        observation = np.zeros(self.world.width + self.world.height, np.float32)
        y, x = divmod(self.cell, self.world.width)
        observation[x] = observation[self.world.width + y] = 1.0
        return observation

    def reset(self) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode."""
        self.cell, self.time = self.world.start, 0
        return self.observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Take one step; returns observation, reward, terminated, truncated and info."""
        self.cell = plain_grid.move(self.world, self.cell, action)
        self.time += 1
        terminated = self.cell in self.world.goals
        truncated = not terminated and self.time >= self.world.episode_steps
        return self.observe(), float(terminated), terminated, truncated, {}


class Decision(NamedTuple):
    """The actions in all environments, and what an update needs to know about them."""

    action: Any  # (N,) int32
    log_prob: Any  # (N,), log beta(a|s)
    preferences: Any  # (N, A), the logits of pi
    action_bonus: Any  # (N, A)
    values: Any  # (N, 2)


class Outcome(NamedTuple):
    """The results of one step; axes (N,), and (T, N) when stacked."""

    next_obs: np.ndarray  # (N, ...)
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


class HostLoop:
    """Rollouts on the host, decisions and updates on the device; one seed, with ``config.envs`` environments."""

    def __init__(self, environments: Sequence[GridEnv], config: AgentConfig) -> None:
        self.environments, self.config = environments, config
        algorithm = make_algorithm(config, environments[0].spec)
        distribution = algorithm.distribution

        def draw(key: jax.Array) -> tuple[jax.Array, jax.Array]:
            key, action_key, _ = jax.random.split(key, 3)
            shape = (config.algorithm.rollout_steps, config.envs, distribution.choices)
            return key, jax.random.gumbel(action_key, shape)

        def decide(leaves: list[jax.Array], observation: jax.Array, noise: jax.Array, time: jax.Array) -> Decision:
            actor: Actor = jax.tree.unflatten(self._structure, leaves)
            logits, values, bonus, _ = jax.vmap(lambda obs: act(actor, obs, 0, algorithm))(observation)
            behaviour = jax.vmap(lambda x, y: algorithm.behaviour_logits(x, y, actor.coef))(logits, bonus)
            action = jax.vmap(distribution.sample)(behaviour, noise[time])
            return Decision(action, jax.vmap(distribution.log_prob)(behaviour, action), logits, bonus, values)

        def learn(state: TrainState, trajectory: Trajectory) -> tuple[TrainState, UpdateInfo]:
            state, info = update.learn(state, trajectory, algorithm)
            return replace(state, updates=state.updates + 1), info

        self._draw, self._decide, self.learn = jax.jit(draw), jax.jit(decide), jax.jit(learn)
        self._actor = jax.jit(lambda state: make_actor(state, algorithm))
        self._structure: Any = None

    def start(self, state: TrainState) -> TrainState:
        """A fresh agent with these environments in place of its own."""
        return replace(state, observation=jnp.stack([one.reset()[0] for one in self.environments]))

    def step(self, state: TrainState) -> tuple[TrainState, UpdateInfo]:
        """One rollout and one update."""
        return self.learn(*self.rollout(state))

    def rollout(self, state: TrainState) -> tuple[TrainState, Trajectory]:
        """Step all environments ``rollout_steps`` times; episodes that end are followed by new ones."""
        key, noise = self._draw(state.key)
        # Passing a list to a compiled function takes a fraction of the time that nested modules take.
        leaves, self._structure = jax.tree.flatten(self._actor(state))
        observation = np.asarray(state.observation)
        steps = []
        for time in range(self.config.algorithm.rollout_steps):
            decision = jax.device_get(self._decide(leaves, observation, noise, time))
            following, outcome = self._step_all(decision.action)
            steps.append((observation, decision, outcome))
            observation = following
        seen, decided, outcome = jax.tree.map(lambda *each: jnp.asarray(np.stack(each)), *steps)
        index = jnp.zeros(decided.action.shape, jnp.int32)  # states are not enumerated
        trajectory = Trajectory(
            observation=seen, index=index, next_index=index, **decided._asdict(), **outcome._asdict()
        )
        return replace(state, key=key, observation=jnp.asarray(observation)), trajectory

    def _step_all(self, actions: np.ndarray) -> tuple[np.ndarray, Outcome]:
        """The next observations, (N, ...), and the results of the step."""
        observations, outcomes = [], []
        for environment, action in zip(self.environments, actions.tolist(), strict=True):
            next_obs, reward, terminated, truncated, _ = environment.step(action)
            observations.append(environment.reset()[0] if terminated or truncated else next_obs)
            outcomes.append((next_obs, reward, terminated, truncated))
        next_obs, reward, terminated, truncated = zip(*outcomes, strict=True)
        return np.stack(observations), Outcome(
            np.stack(next_obs), np.array(reward, np.float32), np.array(terminated), np.array(truncated)
        )
