"""The same agent, stepped from the host: environments in Python, one call of the device for every step.

This is how most programs train: the device computes actions, the host steps the environments one after the other and
sends back what they show, and an update follows after every rollout. Acting, balancing and learning are the package's;
environments and loop are not. The tests compare it with the fused rollout, `benchmarks/agent.py` compares their speed.
Axes: T steps, N environments, A actions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import plain_grid

from action_balance.agent import update
from action_balance.agent.rollout import act, action_coef, behaviour_logits
from action_balance.agent.state import TrainState, Trajectory
from action_balance.agent.update import UpdateInfo
from action_balance.config.agent import Config
from action_balance.core import ppo


class GridEnv:
    """One grid world with the two calls of Gymnasium; x and y of the cell are seen one-hot."""

    def __init__(self, world: plain_grid.World) -> None:
        self.world = world
        self.cell = world.start
        self.time = 0

    def observe(self) -> np.ndarray:
        """What is seen from the cell, (width + height,)."""
        seen = np.zeros(self.world.width + self.world.height, np.float32)
        y, x = divmod(self.cell, self.world.width)
        seen[x] = seen[self.world.width + y] = 1.0
        return seen

    def reset(self) -> tuple[np.ndarray, dict[str, Any]]:
        """The beginning of an episode."""
        self.cell, self.time = self.world.start, 0
        return self.observe(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One move: what was reached, reward, whether the task ended, whether the time limit was reached."""
        self.cell = plain_grid.move(self.world, self.cell, action)
        self.time += 1
        terminated = self.cell in self.world.goals
        truncated = not terminated and self.time >= self.world.episode_steps
        return self.observe(), float(terminated), terminated, truncated, {}


class Decision(NamedTuple):
    """What the agent does in all environments, and why."""

    action: Any  # (N,) int32
    log_prob: Any  # (N,), log beta(a|s)
    logits: Any  # (N, A), of pi
    action_bonus: Any  # (N, A)
    values: Any  # (N, 2)


class Outcome(NamedTuple):
    """What one step brought; axes (N,), and (T, N) when stacked."""

    reached: np.ndarray  # (N, ...)
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray


class HostTrainer:
    """Rollouts on the host, acting and updates on the device; one seed."""

    def __init__(self, environments: Sequence[GridEnv], config: Config) -> None:
        if len(environments) != config.envs or config.traits.next_state == "count":
            raise ValueError("as many environments as the config says, and a method that counts no states")
        self.environments = environments
        self.config = config

        def draw(key: jax.Array) -> tuple[jax.Array, jax.Array]:
            key, action_key, _ = jax.random.split(key, 3)
            return key, jax.random.gumbel(action_key, (config.ppo.rollout_steps, config.envs, len(plain_grid.MOVES)))

        def decide(leaves: list[jax.Array], observation: jax.Array, noise: jax.Array, time: jax.Array) -> Decision:
            state: TrainState = jax.tree.unflatten(self._structure, leaves)
            coef = action_coef(config, state.updates)
            with jax.default_matmul_precision("highest"):
                logits, values, bonus = jax.vmap(lambda seen: act(state, seen, config))(observation)
            behaviour = jax.vmap(lambda x, y: behaviour_logits(x, y, coef, config))(logits, bonus)
            action = (behaviour + noise[time]).argmax(axis=-1)
            return Decision(action, jax.vmap(ppo.log_prob)(behaviour, action), logits, bonus, values)

        def learn(state: TrainState, trajectory: Trajectory) -> tuple[TrainState, UpdateInfo]:
            with jax.default_matmul_precision("highest"):
                uncounted = jnp.zeros_like(trajectory.action)
                state, learning = update.learn(state, trajectory, uncounted, config)
            return replace(state, updates=state.updates + 1), learning

        self._draw, self._decide, self.learn = jax.jit(draw), jax.jit(decide), jax.jit(learn)
        self._structure: Any = None

    def begin(self, state: TrainState) -> TrainState:
        """A fresh agent in front of these environments."""
        return replace(state, observation=jnp.stack([one.reset()[0] for one in self.environments]))

    def step(self, state: TrainState) -> tuple[TrainState, UpdateInfo]:
        """One rollout and one update."""
        return self.learn(*self.rollout(state))

    def rollout(self, state: TrainState) -> tuple[TrainState, Trajectory]:
        """``rollout_steps`` steps of all environments, which begin anew by themselves."""
        key, noise = self._draw(state.key)
        # A list is handed over in a fraction of the time that nested modules need.
        leaves, self._structure = jax.tree.flatten(state)
        observation = np.asarray(state.observation)
        made = []
        for time in range(self.config.ppo.rollout_steps):
            decision = jax.device_get(self._decide(leaves, observation, noise, time))
            following, outcome = self._step_all(decision.action)
            made.append((observation, decision, outcome))
            observation = following
        seen, decided, outcome = jax.tree.map(lambda *each: np.stack(each), *made)
        trajectory = Trajectory(
            observation=seen,
            next_obs=outcome.next_obs,
            action=decided.action,
            log_prob=decided.log_prob,
            logits=decided.logits,
            action_bonus=decided.action_bonus,
            values=decided.values,
            reward=outcome.reward,
            terminated=outcome.terminated,
            truncated=outcome.truncated,
        )
        return replace(state, key=key, observation=jnp.asarray(observation)), trajectory

    def _step_all(self, actions: np.ndarray) -> tuple[np.ndarray, Outcome]:
        """What is seen next, (N, ...), and what the step brought."""
        observations, outcomes = [], []
        for environment, action in zip(self.environments, actions.tolist(), strict=True):
            reached, reward, terminated, truncated, _ = environment.step(action)
            observations.append(environment.reset()[0] if terminated or truncated else reached)
            outcomes.append((reached, reward, terminated, truncated))
        reached, reward, terminated, truncated = zip(*outcomes, strict=True)
        return np.stack(observations), Outcome(
            np.stack(reached), np.array(reward, np.float32), np.array(terminated), np.array(truncated)
        )
