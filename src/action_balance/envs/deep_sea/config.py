"""Settings of the deep sea."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from action_balance.config.env import DeviceEnvConfig
from action_balance.config.fields import number
from action_balance.errors import UserError

if TYPE_CHECKING:
    import jax

    from action_balance.envs.base import Environment
    from action_balance.envs.scene import Scene

#: The largest N: an observation has N x N numbers.
LARGEST = 1000


@dataclass(frozen=True)
class DeepSeaConfig(DeviceEnvConfig):
    """Deep sea: only one of 2^N action sequences finds the treasure (Osband et al., 2019)."""

    size: int = 20
    """Number N of rows, of columns, and of steps per episode."""
    distractors: int = number(0, high=1_000_000)
    """Number of random values appended to every observation, which carry no information about the cell."""

    label: ClassVar[str] = "deep sea"
    order: ClassVar[int] = 1
    preset: ClassVar[str] = "chains"
    forms: ClassVar[tuple[str, ...]] = ("deep-sea",)
    has_images: ClassVar[bool | None] = False
    common_scale: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_size(self.size)

    @property
    def short_name(self) -> str:
        distractors = f" with {self.distractors} distractors" if self.distractors else ""
        return f"{self.name} {self.size}{distractors}"

    @property
    def title(self) -> str:
        """Name and size in words; another family that extends this one keeps its own name."""
        return self.short_name.replace(
            f"deep-sea {self.size}", f"Deep Sea {self.size}\N{MULTIPLICATION SIGN}{self.size}", 1
        )

    def make(self, key: "jax.Array") -> "Environment":
        from action_balance.envs.deep_sea.environment import DeepSea

        return DeepSea(self.size, key, self.distractors)

    def scene(self, environment: "Environment") -> "Scene":
        """The sea from the side, its surface at the top; its upper right half cannot be reached."""
        import numpy as np

        from action_balance.envs.deep_sea.environment import DeepSea
        from action_balance.envs.grid.world import GridWorld
        from action_balance.envs.scene import Scene

        assert isinstance(environment, DeepSea)
        size = environment.size
        row, column = np.divmod(np.arange(size * size), size)
        right = np.asarray(environment.right_is)[column]
        # The diver sinks, and y grows upwards.
        walls = [(int(x), size - 1 - int(y)) for y, x in zip(*np.nonzero(~np.tri(size, dtype=bool)), strict=True)]
        world = GridWorld.create(size, size, walls, (0, size - 1), [(size - 1, 0)], size)
        order = np.stack([1 - right, right], axis=1)
        return Scene(world, (size - 1 - row) * size + column, ("left", "right"), order, shows_the_end=False)


def check_size(size: int) -> None:
    if size < 2:
        raise UserError(f"a deep sea of size {size} has nothing to explore: use 2 or more")
    if size > LARGEST:
        raise UserError(f"a deep sea of size {size} does not fit into memory: use {LARGEST} or less")
