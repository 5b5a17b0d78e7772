"""The games of ale-py: their names, titles and actions; nothing here imports JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING

from action_balance.errors import UserError, check_name
from action_balance.files import missing

if TYPE_CHECKING:
    from ale_py.vector_env import AtariVectorEnv

#: The six games of the paper, which are hard to explore.
PAPER_GAMES = ("gravitar", "montezuma_revenge", "pitfall", "private_eye", "solaris", "venture")
#: Games for two and more players: with one player, the emulator ends the whole process.
FOR_SEVERAL = frozenset({"combat", "joust", "maze_craze", "warlords"})
#: Titles that differ from the name.
TITLES = {"montezuma_revenge": "Montezuma's Revenge", "pitfall": "Pitfall!"}
#: Where the memory of a game holds the number of the room.
ROOM_BYTE = {"montezuma_revenge": 3, "pitfall": 1}
#: Height and width of a frame.
SIZE = 84
#: Frames of an observation.
STACK = 4
#: Emulator frames per action.
SKIP = 4


def games() -> list[str]:
    """The games that ale-py brings and one player can play, those of the paper first."""
    try:
        from ale_py import roms
    except ImportError:
        raise missing("ale-py", "Atari", "atari") from None
    return [*PAPER_GAMES, *sorted(set(roms.get_all_rom_ids()) - FOR_SEVERAL - set(PAPER_GAMES))]


def check_game(game: str) -> str:
    if game in FOR_SEVERAL:
        raise UserError(f"{game} needs several players, but an agent plays alone: choose another game")
    # The paper's games are known without ale-py, so that runs of other machines can be read.
    return game if game in PAPER_GAMES else check_name("game", game, games())


def title(game: str) -> str:
    return TITLES.get(game, game.replace("_", " ").title())


def vector_class() -> type[AtariVectorEnv]:
    games()  # reports a missing ale-py
    try:
        from ale_py.vector_env import AtariVectorEnv
    except ImportError:
        raise missing("gymnasium", "Atari", "atari") from None
    return AtariVectorEnv


def count_actions(game: str) -> int:
    check_game(game)
    vector_class()
    from ale_py import ALEInterface, LoggerMode, roms

    ALEInterface.setLoggerMode(LoggerMode.Error)
    emulator = ALEInterface()
    emulator.loadROM(str(roms.get_rom_path(game)))
    return len(emulator.getMinimalActionSet())
