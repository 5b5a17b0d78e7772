"""One environment of a vector environment: all that a worker has to load, so nothing here needs JAX."""

import multiprocessing
import signal
from typing import Any

import numpy as np
from gymnasium import Env, ObservationWrapper, Wrapper, spaces

from action_balance.envs.gymnasium.make import Task, told
from action_balance.envs.gymnasium.spaces import BadObservation, Layout

#: Key of what went wrong in a worker.
FAILED = "action_balance_failed"


class Flat(ObservationWrapper[Any, Any, Any]):
    """An environment whose observations are the vectors of a layout."""

    def __init__(self, env: Env[Any, Any], layout: Layout) -> None:
        super().__init__(env)
        self._layout = layout
        self.observation_space = spaces.Box(-np.inf, np.inf, layout.shape, np.float32)

    def observation(self, observation: Any) -> np.ndarray:
        """The vector."""
        return self._layout.frame(observation)


class Silent(Wrapper[Any, Any, Any, Any]):
    """An environment without infos: nobody reads them, and those of varying shape cannot be put together."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """The beginning of an episode."""
        return self.env.reset(**options)[0], {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step."""
        observation, reward, terminated, truncated, _ = self.env.step(action)
        return observation, reward, terminated, truncated, {}


class Guarded(Silent):
    """An environment in a worker, which tells what went wrong in one line instead of ending with it."""

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """The beginning of an episode."""
        try:
            return super().reset(**options)
        except Exception as error:
            return self._nothing(), {FAILED: one_line(error)}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """One step."""
        try:
            return super().step(action)
        except Exception as error:
            return self._nothing(), 0.0, False, False, {FAILED: one_line(error)}

    def _nothing(self) -> np.ndarray:
        space = self.observation_space
        return np.zeros(space.shape or (), space.dtype)


def one_line(error: Exception) -> str:
    """What went wrong, in one line."""
    if isinstance(error, BadObservation):
        return str(error)
    return told(error)


def single(task: Task, guarded: bool) -> Env[Any, Any]:
    """One environment of a vector environment.

    Args:
        task: what to make.
        guarded: whether it is in a worker, or is to be as those that are.
    """
    if guarded and multiprocessing.parent_process() is not None:
        # Ctrl-C in a terminal reaches all processes; when workers end is for the training to say.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # see `gym_workers`
    env = task.make()
    if not task.layout.plain:
        env = Flat(env, task.layout)
    return Guarded(env) if guarded else Silent(env)
