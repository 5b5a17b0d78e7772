"""One environment of a vector environment: everything that a worker loads, without JAX."""

import multiprocessing
import signal
from typing import Any

import numpy as np
from gymnasium import Env, ObservationWrapper, Wrapper, spaces

from action_balance.envs.gymnasium.make import Task
from action_balance.envs.gymnasium.masking import KEY, MaskReader
from action_balance.envs.gymnasium.spaces import Layout
from action_balance.envs.gymnasium.tryout import one_line
from action_balance.signals import SIGNALS

#: Key of an error in the infos of a worker.
FAILED = "action_balance_failed"


class Flat(ObservationWrapper[Any, Any, Any]):
    """An environment whose observations are the frames of a layout."""

    def __init__(self, env: Env[Any, Any], layout: Layout) -> None:
        super().__init__(env)
        self._layout = layout
        dtype = np.dtype(layout.dtype)
        low, high = (0, 255) if dtype == np.uint8 else (-np.inf, np.inf)
        self.observation_space = spaces.Box(low, high, layout.shape, dtype.type)

    def observation(self, observation: Any) -> np.ndarray:
        """The frame."""
        return self._layout.frame(observation)


class Silent(Wrapper[Any, Any, Any, Any]):
    """An environment whose infos hold its action mask or nothing: infos of varying shape cannot be batched."""

    def __init__(self, env: Env[Any, Any], masks: MaskReader | None = None) -> None:
        super().__init__(env)
        self._masks = masks

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(**options)
        return observation, {} if self._masks is None else {KEY: self._masks(info)}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step; there is no mask after the last one of an episode."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        if self._masks is None or terminated or truncated:
            return observation, reward, terminated, truncated, {}
        return observation, reward, terminated, truncated, {KEY: self._masks(info)}


class Guarded(Silent):
    """An environment in a worker that reports an exception in one line instead of ending with it."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Begin an episode."""
        try:
            return super().reset(**options)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return self._nothing(), {FAILED: one_line(error)}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take one step."""
        try:
            return super().step(action)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return self._nothing(), 0.0, False, False, {FAILED: one_line(error)}

    def _nothing(self) -> np.ndarray:
        space = self.observation_space
        return np.zeros(space.shape or (), space.dtype)


def single(task: Task, guarded: bool) -> Env[Any, Any]:
    """One environment of a vector environment."""
    if guarded and multiprocessing.parent_process() is not None:
        # Ctrl-C in a terminal and SIGTERM of a scheduler reach all processes; only the training ends workers.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # see `workers`
    env = task.make()
    masks = MaskReader(env, task.masks, task.choices.nvec) if task.masks else None
    if not task.layout.plain:
        env = Flat(env, task.layout)
    return (Guarded if guarded else Silent)(env, masks)
