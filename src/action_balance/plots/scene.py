"""Environments as they are drawn: every state a cell of a grid, whatever it is."""

from dataclasses import dataclass

import numpy as np

from action_balance.envs.base import Environment
from action_balance.envs.deep_sea import DeepSea
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.world import ACTIONS, GridWorld


@dataclass(frozen=True)
class Scene:
    """A picture of an environment. Axes: S states, A actions."""

    world: GridWorld
    """What is drawn; walls are where nobody can be."""
    cell: np.ndarray
    """The cell of the world that shows a state, (S,) int."""
    actions: tuple[str, ...]
    """What can be done, in words, in the order in which it is shown."""
    order: np.ndarray
    """The action that does so in a state, (S, A) int."""
    shows_the_end: bool
    """Whether the last state of an episode has a cell; in the deep sea it has none."""

    def as_drawn(self, visits: np.ndarray) -> np.ndarray:
        """Visits of states, (S,), as visits of the world's cells."""
        drawn = np.zeros_like(visits)
        drawn[self.cell] = visits
        return drawn


def scene_of(environment: Environment) -> Scene | None:
    """The picture of an environment; None where there is no map of it."""
    if isinstance(environment, GridEnvironment):
        world = environment.world
        order = np.tile(np.arange(len(ACTIONS)), (world.cells, 1))
        return Scene(world, np.arange(world.cells), ACTIONS, order, shows_the_end=True)
    if isinstance(environment, DeepSea):
        size = environment.size
        row, column = np.divmod(np.arange(environment.states), size)
        right = np.asarray(environment.right_is)[column]
        sky = [(int(x), size - 1 - int(y)) for y, x in zip(*np.nonzero(~np.tri(size, dtype=bool)), strict=True)]
        # The diver sinks, and y grows upwards.
        world = GridWorld.create(size, size, sky, (0, size - 1), [(size - 1, 0)], size)
        order = np.stack([1 - right, right], axis=1)
        return Scene(world, (size - 1 - row) * size + column, ("left", "right"), order, shows_the_end=False)
    return None
