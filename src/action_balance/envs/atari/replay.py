"""A recorded game of Atari, played again for what the vector environment does not tell: its pictures and its memory.

Axis: T steps.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from action_balance.envs.atari.emulator import SKIP, games
from action_balance.errors import check_name
from action_balance.files import missing

#: Where a game's memory has the number of the room.
ROOM_BYTE = {"montezuma_revenge": 3, "pitfall": 1}


@dataclass(frozen=True)
class Record:
    """One game as `Atari` played it, from its beginning to its end: enough to play it again."""

    game: str
    seed: int  # of its emulator
    actions: np.ndarray  # (T,) integers
    scores: np.ndarray  # (T,), what each step brought
    terminated: bool  # the game ended; the time limit, otherwise
    sticky: float = 0.25
    episode_frames: int = 18_000

    @property
    def score(self) -> float:
        """In the end."""
        return float(self.scores.sum(dtype=np.float64))

    @property
    def steps(self) -> int:
        """T."""
        return len(self.actions)


@dataclass(frozen=True)
class Moment:
    """What is there before the first step, or after one."""

    score: float  # so far
    memory: np.ndarray  # (128,) uint8
    room: int | None  # None where it is not known which byte it is
    screen: np.ndarray  # (H, W, 3) uint8, the maximum of the last two frames; (0,) without pictures
    actions: tuple[str, ...]  # what the game's actions are called, e.g. UPFIRE


@dataclass(frozen=True)
class Visit:
    """The first time in a room."""

    room: int
    step: int  # 0 at the beginning


def replay(record: Record, pictures: bool = True) -> Iterator[Moment]:
    """All moments of a game, T + 1 of them.

    The emulator draws the same sticky actions again. Every score and the end are compared with the record, and a
    difference is an error: nothing is shown that was not played.
    """
    console = _Console(record)
    score = 0.0
    yield console.moment(score, pictures)
    for step, (action, recorded) in enumerate(zip(record.actions.tolist(), record.scores.tolist(), strict=True), 1):
        scored, ending = console.step(action, pictures)
        expected = "goes on"
        if step == record.steps:
            expected = "ends" if record.terminated else "meets the time limit"
        if (scored, ending) != (recorded, expected):
            raise RuntimeError(
                f"the replay of {record.game} left the record at step {step} of {record.steps}: it scores {scored:g} "
                f"and {ending}, but {recorded:g} was scored and it {expected} in the record"
            )
        score += scored
        yield console.moment(score, pictures)


def visits(record: Record) -> tuple[Visit, ...] | None:
    """The rooms of a game in the order of their first visits; None where the memory does not tell."""
    if record.game not in ROOM_BYTE:
        return None
    first: dict[int, int] = {}
    for step, moment in enumerate(replay(record, pictures=False)):
        if moment.room is not None:
            first.setdefault(moment.room, step)
    return tuple(Visit(room, step) for room, step in first.items())


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
            raise RuntimeError(f"ale-py has lost its game {record.game}")
        self._emulator.loadROM(path)
        self._emulator.reset_game()
        self._buttons = self._emulator.getMinimalActionSet()
        self._names = tuple(button.name for button in self._buttons)
        self._room = ROOM_BYTE.get(record.game)
        # Some games have a few frames behind them when they begin, which the time limit leaves out.
        self._limit = record.episode_frames + self._emulator.getEpisodeFrameNumber()
        self._screens = [self._emulator.getScreenRGB()]

    def step(self, action: int, pictures: bool) -> tuple[float, str]:
        """What an action scored, and how the game stands."""
        scored = 0.0
        for frame in range(SKIP):
            scored += self._emulator.act(self._buttons[action])
            over = self._emulator.game_over()
            late = self._emulator.getEpisodeFrameNumber() >= self._limit
            if pictures and (over or late or frame >= SKIP - 2):
                self._screens = [*self._screens[-1:], self._emulator.getScreenRGB()]
            if over or late:
                return scored, "ends" if over else "meets the time limit"
        return scored, "goes on"

    def moment(self, score: float, pictures: bool) -> Moment:
        """What is there now."""
        memory = self._emulator.getRAM()
        room = None if self._room is None else int(memory[self._room])
        # Some games draw half of their things on every other frame.
        screen = np.maximum(self._screens[0], self._screens[-1]) if pictures else np.zeros(0, np.uint8)
        return Moment(score, memory, room, screen, self._names)
