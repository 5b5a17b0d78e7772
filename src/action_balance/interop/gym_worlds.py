"""Grid worlds and the deep sea as Gymnasium environments, single and vectorised; `action_balance.gym` registers them.

Episodes are deterministic: a seed given to ``reset`` has no effect. Axes: N environments, S states.
"""

import operator
from collections.abc import Callable
from typing import Any, SupportsIndex

import numpy as np
from gymnasium import Env, logger, spaces
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from action_balance.envs import tables as transitions
from action_balance.envs.grid.view import CellView
from action_balance.envs.grid.world import Cell
from action_balance.envs.tables import Transitions

RENDERING: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 8}


def _spaces(world: Transitions) -> tuple[spaces.Box, spaces.Discrete]:
    shape = world.observe(world.start).shape
    return spaces.Box(world.lowest, 1.0, shape, np.float32), spaces.Discrete(world.actions)


class GymWorld(Env[np.ndarray, SupportsIndex]):
    """One environment."""

    metadata = RENDERING

    def __init__(self, world: Transitions, render_mode: str | None = None) -> None:
        self.world, self.render_mode = world, render_mode
        self.observation_space, self.action_space = _spaces(world)
        self._state, self._time, self._ended = world.start, 0, True
        self._trail = [world.start]  # states of this episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self._state, self._time, self._ended = self.world.start, 0, False
        self._trail = [self._state]
        return self.world.observe(self._state), {}

    def step(self, action: SupportsIndex) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        chosen = operator.index(action)
        if not 0 <= chosen < self.world.actions:
            raise InvalidAction(f"action must be from 0 to {self.world.actions - 1}, not {chosen}")
        if self._ended:
            raise ResetNeeded("no episode is running: call reset() before step()")
        state, reward, terminated, truncated = self.world.step(self._state, self._time, chosen)
        self._state, self._time, self._ended = int(state), self._time + 1, bool(terminated | truncated)
        self._trail.append(self._state if self._state < self.world.states else self._trail[-1])
        return self.world.observe(self._state), float(reward), bool(terminated), bool(truncated), {}

    def render(self) -> Any:
        if self.render_mode is None:
            logger.warn('nothing to render: create the environment with render_mode="rgb_array"')
            return None
        from action_balance.envs.picture import picture

        ages = np.full(self.world.states, -1)
        ages[self._trail] = np.arange(len(self._trail))[::-1]
        return picture(self.world.map, self._trail[-1], ages)


class Grid(GymWorld):
    """``ActionBalance/Grid-v0``: the paper's square, with a goal or without (Sections IV-A and IV-B).

    Args:
        size: cells along a side.
        episode_steps: the time limit.
        view: what is observed of a cell: one-hot column and row, or scaled coordinates.
        goal: its x and y, from the bottom left; reaching it ends the episode with reward 1.
        render_mode: None or rgb_array.
    """

    def __init__(
        self,
        size: int = 40,
        episode_steps: int = 200,
        view: CellView = "one-hot",
        goal: Cell | None = None,
        render_mode: str | None = None,
    ) -> None:
        super().__init__(transitions.grid(size, episode_steps, view, goal), render_mode)


class Corridor(GymWorld):
    """``ActionBalance/Corridor-v0``: two rooms joined by a corridor, with a treasure in the right one (Figure 1).

    Args:
        size: cells along a side of a room.
        length: cells of the corridor.
        episode_steps: the time limit.
        view: what is observed of a cell: one-hot column and row, or scaled coordinates.
        render_mode: None or rgb_array.
    """

    def __init__(
        self,
        size: int = 11,
        length: int = 9,
        episode_steps: int = 200,
        view: CellView = "one-hot",
        render_mode: str | None = None,
    ) -> None:
        super().__init__(transitions.corridor(size, length, episode_steps, view), render_mode)


class DeepSea(GymWorld):
    """``ActionBalance/DeepSea-v0``: only one of 2^N action sequences finds the treasure.

    Args:
        n: N.
        seed: random seed of which action moves right in which column.
        render_mode: None or rgb_array.
    """

    def __init__(self, n: int = 20, seed: int = 0, render_mode: str | None = None) -> None:
        super().__init__(transitions.deep_sea(n, seed), render_mode)


class VectorWorld(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """N copies of one environment that step together; one that has ended begins a new episode in the next step."""

    metadata = RENDERING | {"autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, world: Transitions, num_envs: int, render_mode: str | None) -> None:
        self.world, self.num_envs, self.render_mode = world, num_envs, render_mode
        self.single_observation_space, self.single_action_space = _spaces(world)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._state = np.full(num_envs, world.start)  # (N,)
        self._time = np.zeros(num_envs, int)  # (N,), steps of this episode
        self._ended = np.zeros(num_envs, bool)  # (N,), whether the next step begins a new episode
        self._begun = False
        # For pictures only: the state that each one shows, (N,), and when it was last in each state, (N, S).
        self._shown = self._state.copy()
        self._seen = np.full((num_envs, world.states if render_mode else 0), -1)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode in all environments, or in those of ``options["reset_mask"]``, (N,) bool."""
        super().reset(seed=seed if isinstance(seed, int) else None)
        self._begin(np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, bool))))
        self._begun = True
        return self.world.observe(self._state), {}

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        if not self._begun:
            raise ResetNeeded("no episode is running: call reset() before step()")
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise InvalidAction(f"actions must be {self.num_envs} integers, not {actions.dtype} {actions.shape}")
        if (actions < 0).any() or (actions >= self.world.actions).any():
            raise InvalidAction(f"actions must be from 0 to {self.world.actions - 1}, not {actions}")
        begins = self._ended
        state = np.where(begins, self.world.start, self._state)  # the outcome is not used there
        state, reward, terminated, truncated = self.world.step(state, self._time, actions)
        terminated, truncated = terminated & ~begins, truncated & ~begins
        self._state, self._time, self._ended = state, self._time + 1, terminated | truncated
        self._begin(begins)
        if self.render_mode:
            self._shown = np.where(self._state < self.world.states, self._state, self._shown)
            self._seen[np.arange(self.num_envs), self._shown] = self._time
        return (
            self.world.observe(self._state),
            np.where(begins, 0.0, reward).astype(np.float64),
            terminated,
            truncated,
            {},
        )

    def _begin(self, which: np.ndarray) -> None:
        """Begin an episode in these environments, (N,) bool."""
        self._state = np.where(which, self.world.start, self._state)
        self._time = np.where(which, 0, self._time)
        self._ended = self._ended & ~which
        if self.render_mode:
            self._shown = np.where(which, self.world.start, self._shown)
            self._seen[which] = -1
            self._seen[which, self.world.start] = 0

    def render(self) -> tuple[np.ndarray, ...] | None:
        if self.render_mode is None:
            logger.warn('nothing to render: create the environments with render_mode="rgb_array"')
            return None
        from action_balance.envs.picture import picture

        ages = np.where(self._seen >= 0, self._time[:, None] - self._seen, -1)
        return tuple(picture(self.world.map, int(at), age) for at, age in zip(self._shown, ages, strict=True))


def _vector(make: Callable[..., Transitions]) -> Callable[..., VectorWorld]:
    def vector(num_envs: int = 1, render_mode: str | None = None, **options: Any) -> VectorWorld:
        return VectorWorld(make(**options), num_envs, render_mode)

    return vector


grid_vector, corridor_vector = _vector(transitions.grid), _vector(transitions.corridor)
deep_sea_vector = _vector(transitions.deep_sea)
