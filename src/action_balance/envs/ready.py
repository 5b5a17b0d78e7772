"""The environments that the neural agent can be trained in, by name."""

from dataclasses import dataclass
from typing import get_args

import jax

from action_balance.envs.atari import PAPER_GAMES, Atari, check_game
from action_balance.envs.base import Environment
from action_balance.envs.deep_sea import DeepSea, check_depth
from action_balance.envs.grid import GridWorld
from action_balance.envs.grid_view import GridEnvironment, View
from action_balance.envs.worlds import corridor_world, goal_world, open_world
from action_balance.errors import MOST, UserError, check_name, check_numbers, flag

#: Name and usual size: cells along a side, of a room in the corridor, or N of the deep sea.
SIZES = {"open": 40, "goal": 40, "corridor": 11, "deep-sea": 20}

#: What the name of an Atari game begins with, and those of the paper.
PREFIX = "atari:"
ATARI = tuple(f"{PREFIX}{game}" for game in PAPER_GAMES)

#: The largest side of a grid world, or of its rooms: visits are counted for every cell and seed.
LARGEST = 1000


@dataclass(frozen=True)
class EnvConfig:
    """Which environment, and how it is seen."""

    name: str
    """open, goal, corridor, deep-sea, or atari:GAME."""
    size: int | None = None
    """Cells along a side, of a room in the corridor, or N of the deep sea; usual: 40, 40, 11, 20."""
    episode_steps: int = 200
    """Time limit of the grid worlds; an episode in the deep sea has N steps."""
    view: View = "one-hot"
    """What is seen of a cell of a grid world: one-hot x and y, or scaled coordinates."""

    def __post_init__(self) -> None:
        if self.game is not None:
            self._check_game(self.game)
            return
        if f"atari:{self.name}" in ATARI:
            raise UserError(f"unknown environment '{self.name}': did you mean atari:{self.name}?")
        check_name("environment", self.name, (*SIZES, *ATARI))
        check_name(flag("view"), self.view, get_args(View))
        check_numbers(self, "episode_steps", low=1, high=MOST)
        if self.name == "deep-sea" and (self.episode_steps != 200 or self.view != "one-hot"):
            raise UserError("episodes and view of the deep sea are given: leave out --episode-steps and --view")
        if self.name == "deep-sea":
            check_depth(self.cells)
        else:
            check_numbers(self, *(["size"] if self.size is not None else []), low=1, high=LARGEST)
            _grid(self)

    def _check_game(self, game: str) -> None:
        check_game(game)
        for name in ("size", "episode_steps", "view"):
            if getattr(self, name) != getattr(EnvConfig, name):
                raise UserError(f"an Atari game has no {flag(name)}: leave it out")

    @property
    def game(self) -> str | None:
        """The Atari game; None for the worlds that are compiled with the agent."""
        return self.name.removeprefix(PREFIX) if self.name.startswith(PREFIX) else None

    @property
    def cells(self) -> int:
        """The size, asked for or usual."""
        return self.size if self.size is not None else SIZES[self.name]


def host(config: EnvConfig, envs: int, groups: int, seed: tuple[int, ...], threads: int) -> Atari:
    """The environments of an Atari game.

    Args:
        config: with a game.
        envs: N.
        groups: G.
        seed: of the sticky actions.
        threads: of the emulators; 0 for one per core.
    """
    if config.game is None:
        raise ValueError(f"{config.name} does not run on the host")
    return Atari(config.game, envs, groups, seed, threads)


def make(config: EnvConfig, key: jax.Array) -> Environment:
    """The environment; what is random about it is drawn from the key."""
    return DeepSea(config.cells, key) if config.name == "deep-sea" else GridEnvironment(_grid(config), config.view)


def _grid(config: EnvConfig) -> GridWorld:
    size = config.cells
    if config.name == "open":
        return open_world(size, config.episode_steps)
    if config.name == "goal":
        return goal_world((size * 2 // 5, size * 2 // 5), size, config.episode_steps)
    return corridor_world(size, episode_steps=config.episode_steps)
