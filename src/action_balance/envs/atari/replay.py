"""Replays of recorded Atari games, for what the vector environment does not report: pictures and rooms."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from action_balance.envs.atari.games import ROOM_BYTE, SKIP, games
from action_balance.envs.replay import Moment, Replay, Visit
from action_balance.errors import check_name
from action_balance.files import missing

if TYPE_CHECKING:
    from ale_py import ALEInterface


@dataclass(frozen=True)
class AtariReplay(Replay):
    """One whole game as `Atari` played it; the emulator draws the same sticky actions."""

    seed: int  # of its emulator
    sticky: float = 0.25
    episode_frames: int = 18_000

    @cached_property
    def action_names(self) -> tuple[str, ...]:
        return tuple(in_words(button.name) for button in self._started().getMinimalActionSet())

    @property
    def steps_per_second(self) -> int:
        """15: the console has 60 frames per second."""
        return 60 // SKIP

    @property
    def pixel_aspect(self) -> float:
        return 5 / 3

    @property
    def room_byte(self) -> int | None:
        return ROOM_BYTE.get(self.name)

    def play(self, pictures: bool) -> Iterator[Moment]:
        emulator, byte = self._started(), self.room_byte
        buttons = emulator.getMinimalActionSet()
        # Some games begin after a few frames, which do not count towards the time limit.
        limit = self.episode_frames + emulator.getEpisodeFrameNumber()
        screens = [emulator.getScreenRGB()]

        def moment(**outcome: Any) -> Moment:
            room = None if byte is None else int(emulator.getRAM()[byte])
            # Some games draw half of their objects on every other frame.
            screen = np.maximum(screens[0], screens[-1]) if pictures else np.zeros(0, np.uint8)
            return Moment(screen, room=room, **outcome)

        yield moment()
        for action in self.actions.tolist():
            score, over, late = 0.0, False, False
            for frame in range(SKIP):
                score += emulator.act(buttons[action])
                over, late = emulator.game_over(), emulator.getEpisodeFrameNumber() >= limit
                if pictures and (over or late or frame >= SKIP - 2):
                    screens = [*screens[-1:], emulator.getScreenRGB()]
                if over or late:
                    break
            yield moment(reward=score, terminated=over, truncated=late and not over)

    def visits(self) -> tuple[Visit, ...] | None:
        if self.room_byte is None:
            return None
        first: dict[int, int] = {}
        for step, moment in enumerate(self.moments(pictures=False)):
            assert moment.room is not None
            first.setdefault(moment.room, step)
        return tuple(Visit(room, step) for room, step in first.items())

    def _started(self) -> "ALEInterface":
        """An emulator under the protocol of `Atari`, at the beginning of the game."""
        try:
            from ale_py import ALEInterface, LoggerMode, roms
        except ImportError:
            raise missing("ale-py", "Atari", "atari") from None
        ALEInterface.setLoggerMode(LoggerMode.Error)
        emulator = ALEInterface()
        emulator.setFloat("repeat_action_probability", self.sticky)
        emulator.setInt("random_seed", self.seed)
        emulator.loadROM(str(roms.get_rom_path(check_name("game", self.name, games()))))
        emulator.reset_game()
        return emulator


def in_words(action: str) -> str:
    """What an action does, in words: ``up right fire`` for ``UPRIGHTFIRE``."""
    return "no-op" if action == "NOOP" else " ".join(re.findall("UP|DOWN|LEFT|RIGHT|FIRE", action)).lower()
