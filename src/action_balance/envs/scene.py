"""Maps of environments: every state is drawn as a cell of a grid."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int, Shaped

from action_balance.envs.grid.world import GridWorld


@dataclass(frozen=True)
class Scene:
    """A map of an environment. Axes: S states, A actions."""

    world: GridWorld  # the grid that is drawn; walls are where no state is
    cell: Int[np.ndarray, " S"]  # of the grid, that shows each state
    actions: tuple[str, ...]  # their names, in the order in which they are shown
    order: Int[np.ndarray, "S A"]  # the action behind each of these names, in each state
    shows_the_end: bool  # whether the last state of an episode has a cell

    def as_drawn(self, visits: Shaped[np.ndarray, " S"]) -> Shaped[np.ndarray, " cells"]:
        """Visits by cell of the grid."""
        drawn = np.zeros(self.world.cells, visits.dtype)
        drawn[self.cell] = visits
        return drawn
