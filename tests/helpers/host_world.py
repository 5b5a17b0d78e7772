"""A small world on the host, in NumPy: what an environment shows depends on its number and its actions only.

And an agent for it, or for any other, that takes no compiling to make.
"""

import math
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.algorithms.state import TrainState
from action_balance.core.running_stats import RunningMeanStd
from action_balance.engines.host.compiled_update import CompiledUpdate
from action_balance.envs.host_base import HostStep
from action_balance.envs.spec import EnvSpec

#: Height and width of a frame: the least that the policy's convolutions take.
SIZE = 44
STACK = 4
ACTIONS = 3
#: Places that an agent can be at.
PLACES = 11


def frame(env: int, episode: int, step: int, place: int) -> np.ndarray:
    """A picture, (44, 44) uint8: the first row encodes all numbers, below it a bright band shows the place."""
    picture = np.full((SIZE, SIZE), 20 + 5 * (env % 8), np.uint8)
    picture[4 * place : 4 * place + 4] = 200
    picture[:, 4 * (episode % PLACES)] += 30
    picture[0, :4] = env, episode, step, place
    return picture


def episode_steps(env: int) -> int:
    """Steps of every episode of an environment: 4, 5, 6 or 7."""
    return 4 + env % 4


class HostWorld:
    """N environments in G groups behind the contract of `HostEnvironment`.

    Action 1 goes to the next place, action 2 two places on, and action 0 stays. Arriving at or passing the last place
    scores 10, and the walk begins anew at the first. Episodes of even environments terminate, those of odd ones are
    truncated.
    """

    def __init__(self, envs: int, groups: int = 1) -> None:
        """Where everybody is, (N,) each."""
        self._groups, self._size = groups, envs // groups
        self.episode, self.step, self.place = (np.zeros(envs, int) for _ in range(3))
        self.sent: list[np.ndarray | None] = [None] * groups
        self.closed = False

    @property
    def spec(self) -> EnvSpec:
        return EnvSpec("image-stack", (STACK, SIZE, SIZE), (ACTIONS,), dtype="uint8")

    @property
    def groups(self) -> int:
        return self._groups

    @property
    def envs_per_group(self) -> int:
        return self._size

    def _frame(self, env: int) -> np.ndarray:
        return frame(env, int(self.episode[env]), int(self.step[env]), int(self.place[env]))

    def reset(self, seed: tuple[int, ...] | None = None) -> np.ndarray:
        """The first frames, (G, M, 44, 44). Any reset begins from the first episode again."""
        del seed
        assert all(sent is None for sent in self.sent), "a step is under way"
        for counter in (self.episode, self.step, self.place):
            counter[:] = 0
        frames = np.stack([self._frame(env) for env in range(len(self.place))])
        return frames.reshape(self._groups, self._size, SIZE, SIZE)

    def send(self, group: int, actions: np.ndarray) -> None:
        assert self.sent[group] is None, "a step is under way"
        assert actions.shape == (self._size,)
        assert 0 <= actions.min() <= actions.max() < ACTIONS
        self.sent[group] = np.array(actions)

    def receive(self, group: int) -> HostStep:
        actions = self.sent[group]
        assert actions is not None, "nothing was sent"
        self.sent[group] = None
        numbers = range(group * self._size, (group + 1) * self._size)
        mine = np.array(numbers)
        further = self.place[mine] + actions
        score = np.where(further >= PLACES - 1, 10, 0).astype(np.float32)
        self.place[mine] = np.where(further >= PLACES - 1, 0, further)
        self.step[mine] += 1
        reached = np.stack([self._frame(env) for env in numbers])
        ended = self.step[mine] == np.array([episode_steps(env) for env in numbers])
        self.episode[mine[ended]] += 1
        self.step[mine[ended]] = self.place[mine[ended]] = 0
        newest = np.stack([self._frame(env) for env in numbers]) if ended.any() else reached
        even = mine % 2 == 0
        return HostStep(newest, reached, np.sign(score), score, ended & even, ended & ~even)

    def close(self) -> None:
        self.closed = True


def agent(compiled: CompiledUpdate, obs_stats: RunningMeanStd, seed: int) -> TrainState:
    """An agent before its first update whose outputs differ from frame to frame; its weights are not orthogonal."""
    rng = np.random.default_rng(seed)

    def nothing(leaf: Any) -> Any:
        key = jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        return jax.random.key(seed) if key else jnp.asarray(np.zeros(leaf.shape, leaf.dtype))

    def anything(leaf: Any) -> jax.Array:
        # Convolutions are (k, k, C, out), layers (out, in), and what is left are biases.
        inputs = {4: math.prod(leaf.shape[:3]), 2: leaf.shape[-1], 1: 200}[leaf.ndim]
        return jnp.asarray(rng.normal(0, (2 / inputs) ** 0.5, leaf.shape).astype(np.float32))

    shapes = jax.eval_shape(compiled.init, obs_stats, jax.random.key(seed))
    params, states = (jax.tree.map(anything, part) for part in (shapes.params, shapes.bonus_states))
    empty: TrainState = jax.tree.map(nothing, shapes)
    return replace(empty, params=params, bonus_states=states, obs_stats=obs_stats, first_reward=jnp.int32(-1))
