"""Grid worlds as data; nothing here imports JAX. `action_balance.envs.grid.dynamics` steps them.

A cell (x, y) has the index ``y * width + x``; y grows upwards, so (0, 0) is the bottom-left corner.
Axes: S cells, A = 4 actions.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from action_balance.errors import UserError

Cell = tuple[int, int]
if TYPE_CHECKING:
    import jax

    Array = np.ndarray | jax.Array
else:
    Array = Any  # inside of compiled functions, JAX's

#: What each action adds to (x, y): left, right, up, down.
MOVES: tuple[Cell, ...] = ((-1, 0), (1, 0), (0, 1), (0, -1))
ACTIONS: tuple[str, ...] = ("left", "right", "up", "down")


@dataclass(frozen=True, eq=False)
class GridWorld:
    """The parameters of a grid world. Make one with `create`, `open_world`, ... or `parse_map`.

    Only the size is static: worlds of one size, whatever their walls and goals, share compiled code.
    """

    width: int
    height: int
    walls: Array  # (S,) bool
    start: Array  # () int32, the cell where every episode begins
    goals: Array  # (S,) bool, reaching one ends the episode with reward 1
    episode_steps: Array  # () int32, the time limit
    successor: Array = field(repr=False)  # (S, A) int32, where each action leads

    @classmethod
    def create(
        cls,
        width: int = 40,
        height: int = 40,
        walls: Iterable[Cell] = (),
        start: Cell = (0, 0),
        goals: Iterable[Cell] = (),
        episode_steps: int = 200,
    ) -> Self:
        """A checked world; the defaults are the paper's 40x40 grid without rewards."""
        if width < 1 or height < 1 or width * height < 2:
            raise UserError(f"a world of {width}x{height} cells leaves nothing to explore: use at least two cells")
        if episode_steps < 1:
            raise UserError(f"an episode needs at least one step, not {episode_steps}")

        def index(cell: Cell, what: str) -> int:
            x, y = cell
            if not (0 <= x < width and 0 <= y < height):
                raise UserError(
                    f"{what} ({x},{y}) is outside the {width}x{height} grid: "
                    f"x is from 0 to {width - 1}, y from 0 to {height - 1}"
                )
            return y * width + x

        wall_mask = np.zeros(width * height, bool)
        wall_mask[[index(cell, "wall") for cell in walls]] = True
        goal_mask = np.zeros(width * height, bool)
        start_index = index(start, "start")
        if wall_mask[start_index]:
            raise UserError(f"start ({start[0]},{start[1]}) is a wall: put it on a free cell")
        for cell in goals:
            goal_index = index(cell, "goal")
            if wall_mask[goal_index]:
                raise UserError(f"goal ({cell[0]},{cell[1]}) is a wall: put it on a free cell")
            if goal_index == start_index:
                raise UserError(f"goal ({cell[0]},{cell[1]}) is the start: put it on another cell")
            goal_mask[goal_index] = True
        return cls(
            width=width,
            height=height,
            walls=wall_mask,
            start=np.asarray(start_index, np.int32),
            goals=goal_mask,
            episode_steps=np.asarray(episode_steps, np.int32),
            successor=_successors(width, height, wall_mask),
        )

    @property
    def cells(self) -> int:
        return self.width * self.height

    def coordinates(self, cell: int | np.integer) -> Cell:
        """(x, y) of a cell's index."""
        return int(cell) % self.width, int(cell) // self.width

    def without_goals(self) -> Self:
        return replace(self, goals=np.zeros_like(self.goals))

    def distances(self) -> np.ndarray:
        """Fewest steps from the start to each cell, (S,) int; -1 where no path leads."""
        distance = np.full(self.cells, -1)
        distance[self.start] = 0
        queue = deque([int(self.start)])
        while queue:
            cell = queue.popleft()
            for following in self.successor[cell]:
                if distance[following] < 0:
                    distance[following] = distance[cell] + 1
                    queue.append(int(following))
        return distance

    def reachable_cells(self) -> int:
        """Number of cells that the agent can act from within the time limit: 100 % coverage."""
        distance = self.distances()
        return int(((distance >= 0) & (distance < self.episode_steps)).sum())

    def check_goals(self) -> None:
        distance = self.distances()
        for cell in np.flatnonzero(self.goals):
            x, y = self.coordinates(cell)
            if distance[cell] < 0:
                raise UserError(f"goal ({x},{y}) cannot be reached from the start: open a path in the walls")
            if distance[cell] > self.episode_steps:
                raise UserError(
                    f"goal ({x},{y}) is {distance[cell]} steps away, more than the {self.episode_steps} of an episode: "
                    f"increase --episode-steps"
                )


def _successors(width: int, height: int, walls: np.ndarray) -> np.ndarray:
    """Where each action leads from each cell, (S, A): nowhere, if that is off the grid or a wall."""
    y, x = np.divmod(np.arange(width * height), width)
    columns = []
    for dx, dy in MOVES:
        inside = (x + dx >= 0) & (x + dx < width) & (y + dy >= 0) & (y + dy < height)
        target = np.where(inside, (y + dy) * width + x + dx, y * width + x)
        columns.append(np.where(walls[target], y * width + x, target))
    return np.stack(columns, axis=1).astype(np.int32)
