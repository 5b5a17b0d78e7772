"""The environments that the neural agent can be trained in, by name."""

from dataclasses import dataclass
from typing import get_args

import jax

from action_balance.envs.base import Environment
from action_balance.envs.deep_sea import DeepSea, check_depth
from action_balance.envs.grid import GridWorld
from action_balance.envs.grid_view import GridEnvironment, View
from action_balance.envs.worlds import corridor_world, goal_world, open_world
from action_balance.errors import MOST, UserError, check_name, check_numbers, flag

#: Name and usual size: cells along a side, of a room in the corridor, or N of the deep sea.
SIZES = {"open": 40, "goal": 40, "corridor": 11, "deep-sea": 20}

#: The largest side of a grid world, or of its rooms: visits are counted for every cell and seed.
LARGEST = 1000


@dataclass(frozen=True)
class EnvConfig:
    """Which environment, and how it is seen."""

    name: str
    """open, goal, corridor or deep-sea."""
    size: int | None = None
    """Cells along a side, of a room in the corridor, or N of the deep sea; usual: 40, 40, 11, 20."""
    episode_steps: int = 200
    """Time limit of the grid worlds; an episode in the deep sea has N steps."""
    view: View = "one-hot"
    """What is seen of a cell of a grid world: one-hot x and y, or scaled coordinates."""

    def __post_init__(self) -> None:
        check_name("environment", self.name, SIZES)
        check_name(flag("view"), self.view, get_args(View))
        check_numbers(self, "episode_steps", low=1, high=MOST)
        if self.name == "deep-sea" and (self.episode_steps != 200 or self.view != "one-hot"):
            raise UserError("episodes and view of the deep sea are given: leave out --episode-steps and --view")
        if self.name == "deep-sea":
            check_depth(self.cells)
        else:
            check_numbers(self, *(["size"] if self.size is not None else []), low=1, high=LARGEST)
            _grid(self)

    @property
    def cells(self) -> int:
        """The size, asked for or usual."""
        return self.size if self.size is not None else SIZES[self.name]


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
