"""Replays of recorded Atari games, for what the vector environment does not report: pictures and memory.

Axis: T steps.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Integer, Shaped, UInt8

from action_balance.envs.atari.games import ROOM_BYTE, SKIP, games
from action_balance.errors import check_name
from action_balance.files import missing


@dataclass(frozen=True)
class Record:
    """One whole game as `Atari` played it, with everything that a replay needs."""

    game: str
    seed: int  # of its emulator
    actions: Integer[np.ndarray, " T"]
    scores: Shaped[np.ndarray, " T"]  # of each step
    terminated: bool  # whether the game ended, and not the time limit
    sticky: float = 0.25
    episode_frames: int = 18_000

    @property
    def score(self) -> float:
        """The final score."""
        return float(self.scores.sum(dtype=np.float64))

    @property
    def steps(self) -> int:
        """T."""
        return len(self.actions)

    @property
    def action_names(self) -> tuple[str, ...]:
        """What the actions do, in words: ``up right fire``."""
        return tuple(in_words(name) for name in next(replay(self, pictures=False)).actions)

    @property
    def steps_per_second(self) -> int:
        """15: the console has 60 frames per second."""
        return 60 // SKIP

    @property
    def pixel_aspect(self) -> float:
        """How much wider than high a pixel of the console is on a television."""
        return 5 / 3

    @property
    def room_byte(self) -> int | None:
        """The byte of the memory that holds the number of the room; None if it is not known."""
        return ROOM_BYTE.get(self.game)

    def moments(self) -> "Iterator[Moment]":
        """All T + 1 moments of the game, with pictures."""
        return replay(self)

    def visits(self) -> "tuple[Visit, ...] | None":
        """The rooms of the game; see `visits`."""
        return visits(self)


@dataclass(frozen=True)
class Moment:
    """The game before its first step, or after a step."""

    score: float  # so far
    memory: UInt8[np.ndarray, "128"]
    room: int | None  # None if it is not known which byte holds it
    screen: UInt8[np.ndarray, "..."]  # (H, W, 3), the maximum of the last two frames; (0,) without pictures
    actions: tuple[str, ...]  # names of the game's actions, e.g. UPFIRE
    info: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Visit:
    """The first visit of a room."""

    room: int
    step: int  # 0 at the beginning


def replay(record: Record, pictures: bool = True) -> Iterator[Moment]:
    """Play a recorded game again.

    The emulator draws the same sticky actions. Every score and the end are compared with the record, and a difference
    is an error: nothing is shown that was not played.
    """
    console = _Console(record)
    score = 0.0
    yield console.moment(score, pictures)
    for step, (action, recorded) in enumerate(zip(record.actions.tolist(), record.scores.tolist(), strict=True), 1):
        scored, ending = console.step(action, pictures)
        expected = "continues"
        if step == record.steps:
            expected = "ends" if record.terminated else "reaches the time limit"
        if (scored, ending) != (recorded, expected):
            raise RuntimeError(
                f"the replay of {record.game} differs from the record at step {step} of {record.steps}: it scores "
                f"{scored:g} and {ending}, but the record scores {recorded:g} and {expected}"
            )
        score += scored
        yield console.moment(score, pictures)


def visits(record: Record) -> tuple[Visit, ...] | None:
    """The rooms of a game."""
    if record.game not in ROOM_BYTE:
        return None
    first: dict[int, int] = {}
    for step, moment in enumerate(replay(record, pictures=False)):
        if moment.room is not None:
            first.setdefault(moment.room, step)
    return tuple(Visit(room, step) for room, step in first.items())


def in_words(action: str) -> str:
    """What an action does, in words: ``up right fire`` for ``UPRIGHTFIRE``."""
    return "no-op" if action == "NOOP" else " ".join(re.findall("UP|DOWN|LEFT|RIGHT|FIRE", action)).lower()


class _Console:
    """One emulator under the protocol of `Atari`."""

    def __init__(self, record: Record) -> None:
        try:
            from ale_py import ALEInterface, LoggerMode, roms
        except ImportError:
            raise missing("ale-py", "Atari", "atari") from None
        ALEInterface.setLoggerMode(LoggerMode.Error)
        self._emulator = ALEInterface()
        self._emulator.setFloat("repeat_action_probability", record.sticky)
        self._emulator.setInt("random_seed", record.seed)
        path = roms.get_rom_path(check_name("game", record.game, games()))
        if path is None:
            raise RuntimeError(f"ale-py has no ROM of the game {record.game}")
        self._emulator.loadROM(path)
        self._emulator.reset_game()
        self._buttons = self._emulator.getMinimalActionSet()
        self._names = tuple(button.name for button in self._buttons)
        self._room = ROOM_BYTE.get(record.game)
        # Some games begin after a few frames, which do not count towards the time limit.
        self._limit = record.episode_frames + self._emulator.getEpisodeFrameNumber()
        self._screens = [self._emulator.getScreenRGB()]

    def step(self, action: int, pictures: bool) -> tuple[float, str]:
        """Score of one action, and whether the game continues."""
        scored = 0.0
        for frame in range(SKIP):
            scored += self._emulator.act(self._buttons[action])
            over = self._emulator.game_over()
            late = self._emulator.getEpisodeFrameNumber() >= self._limit
            if pictures and (over or late or frame >= SKIP - 2):
                self._screens = [*self._screens[-1:], self._emulator.getScreenRGB()]
            if over or late:
                return scored, "ends" if over else "reaches the time limit"
        return scored, "continues"

    def moment(self, score: float, pictures: bool) -> Moment:
        """The game as it is now."""
        memory = self._emulator.getRAM()
        room = None if self._room is None else int(memory[self._room])
        # Some games draw half of their objects on every other frame.
        screen = np.maximum(self._screens[0], self._screens[-1]) if pictures else np.zeros(0, np.uint8)
        return Moment(score, memory, room, screen, self._names)
