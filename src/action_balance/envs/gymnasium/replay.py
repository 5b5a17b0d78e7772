"""Replays of recorded episodes in Gymnasium, for their pictures: the environment is made again so that it draws."""

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from gymnasium import Env

from action_balance.envs.gymnasium.action_names import action_names
from action_balance.envs.gymnasium.make import ExaminedEnv, drawn
from action_balance.envs.gymnasium.tryout import attempt
from action_balance.envs.replay import Moment, Replay, checked_picture
from action_balance.errors import UserError

#: The render mode of pictures.
PICTURES = "rgb_array"
#: What pygame reads when it is imported, unless the user has set it: it prints no greeting, and opens no window.
PYGAME = {"PYGAME_HIDE_SUPPORT_PROMPT": "1", "SDL_VIDEODRIVER": "dummy"}
#: Steps per second of a film: at most as many as can be followed, and where the environment does not say.
FASTEST, USUAL = 15, 10


@dataclass(frozen=True)
class GymReplay(Replay):
    """One whole episode."""

    examined: ExaminedEnv
    seed: int  # of its environment

    @property
    def action_names(self) -> tuple[str, ...]:
        return self._about[0]

    @property
    def steps_per_second(self) -> int:
        """As many as the environment says, unless they are too fast to follow."""
        return self._about[1]

    @cached_property
    def _about(self) -> tuple[tuple[str, ...], int]:
        choices, env = self.examined.choices, self._make()
        try:
            rate = env.metadata.get("render_fps") or USUAL
            rate = rate if isinstance(rate, (int, float)) and math.isfinite(rate) else USUAL
            return action_names(env, choices), round(min(max(rate, 1), FASTEST))
        finally:
            self._made(env.close)

    def play(self, pictures: bool) -> Iterator[Moment]:
        del pictures
        env = self._make()
        try:
            self._made(partial(env.reset, seed=self.seed))
            yield Moment(self._screen(env))
            for action in self.examined.choices.each(self.actions):
                _, reward, terminated, truncated, _ = self._made(partial(env.step, action))
                outcome = float(np.float32(reward)), bool(terminated), bool(truncated)
                yield Moment(self._screen(env), 0.0, None, {}, *outcome)
        finally:
            self._made(env.close)

    def _screen(self, env: Env[Any, Any]) -> np.ndarray:
        return checked_picture(self._made(env.render), self.name)

    def _make(self) -> Env[Any, Any]:
        for name, value in PYGAME.items():
            os.environ.setdefault(name, value)
        env: Env[Any, Any] = self._made(partial(drawn, self.examined.make, PICTURES))
        if env.render_mode != PICTURES:
            modes = ", ".join(map(str, env.metadata.get("render_modes") or ())) or "none"
            env.close()
            raise UserError(f"{self.name} draws no pictures: it has no render mode {PICTURES} (it has: {modes})")
        return env

    def _made(self, work: Callable[[], Any]) -> Any:
        return attempt(f"{self.name} cannot be drawn", work)
