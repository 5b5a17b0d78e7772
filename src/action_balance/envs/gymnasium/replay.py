"""Replays of recorded episodes in Gymnasium, for their pictures.

The environment is made again so that it draws itself, and the recorded actions are taken again. Axis: T steps.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from gymnasium import Env
from gymnasium import error as gym_error
from jaxtyping import Integer, Shaped, UInt8

from action_balance.envs.gymnasium.action_names import action_names
from action_balance.envs.gymnasium.make import Task, drawn
from action_balance.envs.gymnasium.tryout import one_line
from action_balance.errors import UserError
from action_balance.files import reason

#: The render mode of pictures.
PICTURES = "rgb_array"
#: What pygame reads when it is imported, unless the user has set it: it prints no greeting, and opens no window.
PYGAME = {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy"}
#: Steps per second of a film: at most as many as can be followed, and where the environment does not say.
FASTEST, USUAL = 15, 10


@dataclass(frozen=True)
class Moment:
    """An episode before its first step, or after a step."""

    score: float  # so far
    screen: UInt8[np.ndarray, "H W 3"]
    room: None = None
    info: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class GymRecord:
    """One whole episode, with everything that a replay needs."""

    task: Task
    seed: int  # of its environment
    actions: Integer[np.ndarray, "T ..."]
    rewards: Shaped[np.ndarray, " T"]  # of each step
    terminated: bool  # whether the task ended it
    pixel_aspect: float = 1.0
    room_byte: None = None

    @property
    def action_names(self) -> tuple[str, ...]:
        """What the actions do, in words."""
        return self._about[0]

    @property
    def steps_per_second(self) -> int:
        """As many as the environment says, unless they are too fast to follow."""
        return self._about[1]

    @cached_property
    def _about(self) -> tuple[tuple[str, ...], int]:
        choices, env = self.task.choices, self._make()
        try:
            rate = env.metadata.get("render_fps") or USUAL
            rate = rate if isinstance(rate, (int, float)) and math.isfinite(rate) else USUAL
            return action_names(env, choices.nvec, choices.start), round(min(max(rate, 1), FASTEST))
        finally:
            self._made(env.close)

    def visits(self) -> None:
        """Rooms are not known."""

    def moments(self) -> Iterator[Moment]:
        """Play the episode again; see `Replay.moments`.

        Every reward and the end are compared with the record. A difference is a `UserError`: nothing is shown that was
        not played.
        """
        env = self._make()
        try:
            self._made(partial(env.reset, seed=self.seed))
            total = 0.0
            yield Moment(total, self._screen(env))
            chosen = self.task.choices(self.actions)
            for step, (action, reward) in enumerate(zip(chosen, self.rewards.tolist(), strict=True), 1):
                self._step(env, action, reward, step)
                total += reward
                yield Moment(total, self._screen(env))
        finally:
            self._made(env.close)

    def _step(self, env: Env[Any, Any], action: Any, reward: float, step: int) -> None:
        found, terminated, truncated = self._made(partial(_outcome, env, action))
        last = step == len(self.actions)
        ended = terminated == self.terminated if last else not (terminated or truncated)
        if not ended or not math.isclose(found, reward, rel_tol=1e-5, abs_tol=1e-6):
            raise UserError(
                f"{self.task.name} does not repeat an episode with the same seed and actions (step {step} of "
                f"{len(self.actions)} differs): take all random numbers from self.np_random, which reset(seed=) seeds"
            )

    def _screen(self, env: Env[Any, Any]) -> UInt8[np.ndarray, "H W 3"]:
        picture = np.asarray(self._made(env.render))
        if picture.ndim != 3 or picture.shape[2] not in (3, 4) or picture.dtype != np.uint8:
            raise UserError(
                f"render() of {self.task.name} returns {picture.dtype} {picture.shape}, not an RGB picture, (H, W, 3)"
            )
        return picture[..., :3]

    def _make(self) -> Env[Any, Any]:
        for name, value in PYGAME.items():
            os.environ.setdefault(name, value)
        env: Env[Any, Any] = self._made(partial(drawn, self.task.make, PICTURES))
        if env.render_mode != PICTURES:
            modes = ", ".join(map(str, env.metadata.get("render_modes") or ())) or "none"
            env.close()
            raise UserError(f"{self.task.name} draws no pictures: it has no render mode {PICTURES} (it has: {modes})")
        return env

    def _made(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except (UserError, KeyboardInterrupt):
            raise
        except gym_error.DependencyNotInstalled as error:
            raise UserError(f"pictures of {self.task.name} need a package: {reason(error)}") from None
        except BaseException as error:  # SystemExit, too
            raise UserError(f"{self.task.name} cannot be drawn: {one_line(error)}") from None


def _outcome(env: Env[Any, Any], action: Any) -> tuple[float, bool, bool]:
    _, reward, terminated, truncated, _ = env.step(action)
    return float(np.float32(reward)), bool(terminated), bool(truncated)
