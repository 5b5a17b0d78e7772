"""Settings of the grid worlds."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

from action_balance.config.env import DeviceEnvConfig
from action_balance.config.fields import count
from action_balance.envs.grid.view import CellView
from action_balance.errors import check_name

if TYPE_CHECKING:
    import jax

    from action_balance.envs.base import Environment
    from action_balance.envs.grid.world import GridWorld
    from action_balance.envs.scene import Scene

#: Default size of each world: cells along a side, or along a side of a room of the corridor.
SIZES = {"open": 40, "goal": 40, "corridor": 11}

#: What headings call each world; the size follows.
TITLES = {"open": "Open grid", "goal": "Goal grid", "corridor": "Corridor with rooms of"}

#: The size from which every world has a start, a goal and something to explore, and more steps per cell along a side
#: than any goal is away. Other worlds are made to be checked, which needs NumPy.
SMALLEST, STEPS_PER_CELL = 3, 4

#: The largest size: visits are counted for every cell and seed.
LARGEST = 1000


@dataclass(frozen=True)
class GridConfig(DeviceEnvConfig):
    """The paper's grid worlds: open (Section IV-A), goal (Section IV-B) and corridor (Figure 1)."""

    size: int | None = count(None, LARGEST)
    """Cells along each side of the world, or of each room of the corridor (default: 40; corridor: 11)."""
    episode_steps: int = count(200)
    """Time limit of an episode."""
    view: CellView = "one-hot"
    """What the agent observes of its cell: one-hot column and row, or scaled coordinates."""

    label: ClassVar[str] = "grid world"
    order: ClassVar[int] = 0
    preset: ClassVar[str] = "rooms"
    forms: ClassVar[tuple[str, ...]] = tuple(SIZES)
    has_images: ClassVar[bool | None] = False
    common_scale: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_name("environment", self.name, SIZES)
        super().__post_init__()
        if self.cells < SMALLEST or self.episode_steps < STEPS_PER_CELL * self.cells:
            self.world()

    @property
    def cells(self) -> int:
        return self.size if self.size is not None else SIZES[self.name]

    @property
    def short_name(self) -> str:
        return f"{self.name} {self.cells}"

    @property
    def title(self) -> str:
        return f"{TITLES[self.name]} {self.cells}\N{MULTIPLICATION SIGN}{self.cells}"

    def comparable(self) -> Self:
        return replace(self, size=self.cells)

    def world(self) -> "GridWorld":
        """The world; a `UserError` if its goal is out of reach."""
        from action_balance.envs.grid.maps import corridor_world, goal_world, open_world

        size = self.cells
        if self.name == "open":
            return open_world(size, self.episode_steps)
        if self.name == "goal":
            return goal_world((size * 2 // 5, size * 2 // 5), size, self.episode_steps)
        return corridor_world(size, episode_steps=self.episode_steps)

    def make(self, key: "jax.Array") -> "Environment":
        from action_balance.envs.grid.environment import GridEnvironment

        del key
        return GridEnvironment(self.world(), self.view)

    def scene(self, environment: "Environment") -> "Scene":
        import numpy as np

        from action_balance.envs.grid.environment import GridEnvironment
        from action_balance.envs.grid.world import ACTIONS
        from action_balance.envs.scene import Scene

        assert isinstance(environment, GridEnvironment)
        world = environment.world
        order = np.tile(np.arange(len(ACTIONS)), (world.cells, 1))
        return Scene(world, np.arange(world.cells), ACTIONS, order, shows_the_end=True)
