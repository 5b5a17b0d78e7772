"""One environment of a vector environment: everything that a worker loads, without JAX."""

import multiprocessing
import signal
from typing import Any

import numpy as np
from gymnasium import Env, Wrapper, spaces

from action_balance.envs.gymnasium.make import ExaminedEnv
from action_balance.envs.gymnasium.masking import KEY, MaskReader
from action_balance.envs.gymnasium.tryout import one_line
from action_balance.signals import SIGNALS

#: Key of an error in the infos of a worker.
FAILED = "action_balance_failed"


class Single(Wrapper[Any, Any, Any, Any]):
    """An environment of a vector. Its infos hold its action mask or nothing: infos of varying shape cannot be batched.

    Observations that are no array become frames. In a worker, an exception is reported in one line.
    """

    def __init__(self, env: Env[Any, Any], examined: ExaminedEnv, guarded: bool) -> None:
        super().__init__(env)
        self._guarded, layout = guarded, examined.layout
        self._masks = MaskReader(env, examined.masks, examined.choices.nvec) if examined.masks else None
        self._layout = None if layout.plain else layout
        if not layout.plain:
            dtype = np.dtype(layout.encoding.dtype)
            low, high = (0, 255) if dtype == np.uint8 else (-np.inf, np.inf)
            self.observation_space = spaces.Box(low, high, layout.encoding.shape, dtype.type)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        try:
            return self._seen(*self.env.reset(**options))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return self._failed(error)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        try:
            observation, reward, terminated, truncated, info = self.env.step(action)
            frame, kept = self._seen(observation, info, not (terminated or truncated))
            return frame, reward, terminated, truncated, kept
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            frame, kept = self._failed(error)
            return frame, 0.0, False, False, kept

    def _seen(self, observation: Any, info: dict[str, Any], acts: bool = True) -> tuple[Any, dict[str, Any]]:
        """The frame, and the mask; there is none after the last step of an episode."""
        frame = observation if self._layout is None else self._layout.frame(observation)
        return frame, {KEY: self._masks(info)} if self._masks is not None and acts else {}

    def _failed(self, error: BaseException) -> tuple[Any, dict[str, Any]]:
        if not self._guarded:
            raise error
        space = self.observation_space
        return np.zeros(space.shape or (), space.dtype), {FAILED: one_line(error)}


def single(examined: ExaminedEnv, guarded: bool) -> Env[Any, Any]:
    if guarded and multiprocessing.parent_process() is not None:
        # Ctrl-C in a terminal and SIGTERM of a scheduler reach all processes; only the training ends workers.
        for number in SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # see `workers`
    return Single(examined.make(), examined, guarded)
