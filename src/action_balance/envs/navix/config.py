"""Settings of Navix, of version 0.7.4; the library itself is imported when an environment is made."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from action_balance.envs.library.config import LibraryEnvConfig

if TYPE_CHECKING:
    from action_balance.envs.library.adapter import Adapter

#: What the agent sees; the names are those of the library's functions.
NavixObservation = Literal[
    "symbolic_first_person", "symbolic", "categorical_first_person", "categorical", "rgb_first_person", "rgb"
]

#: Sizes of KeyCorridor: of a room, and the number of rows.
KEY_CORRIDORS = ("S3R1", "S3R2", "S3R3", "S4R3", "S5R3", "S6R3")

NAMES = (
    *(f"Navix-Empty-{size}x{size}-v0" for size in (5, 6, 8, 16)),
    *(f"Navix-Empty-Random-{size}x{size}-v0" for size in (5, 6, 8, 16)),
    *(f"Navix-DoorKey-{size}x{size}-v0" for size in (5, 6, 8, 16)),
    *(f"Navix-DoorKey-Random-{size}x{size}-v0" for size in (5, 6, 8, 16)),
    "Navix-FourRooms-v0",
    *(f"Navix-KeyCorridor{size}-v0" for size in KEY_CORRIDORS),
    *(f"Navix-LavaGapS{size}-v0" for size in (5, 6, 7)),
    *(f"Navix-SimpleCrossing{size}-v0" for size in ("S9N1", "S9N2", "S9N3", "S11N5")),
    *(f"Navix-Dynamic-Obstacles-{size}x{size}-v0" for size in (5, 6, 8, 16)),
    *(f"Navix-Dynamic-Obstacles-{size}x{size}-Random-v0" for size in (5, 6)),
    *(f"Navix-DistShift{number}-v0" for number in (1, 2)),
    *(f"Navix-GoToDoor-{size}x{size}-v0" for size in (5, 6, 8)),
)

#: Tasks whose goal cannot be reached, and what to use instead: doors of KeyCorridor stay walls when they are opened.
UNSOLVABLE = {f"Navix-KeyCorridor{size}-v0": f"xminigrid:KeyCorridor-{size}" for size in KEY_CORRIDORS}


@dataclass(frozen=True)
class NavixConfig(LibraryEnvConfig):
    """A task of Navix: MiniGrid's tasks in JAX (Pignatelli et al., 2024)."""

    observation: NavixObservation = "symbolic_first_person"
    """What the agent sees: the kind, the colour and the state of cells (symbolic), only their kind (categorical), or an
    image (rgb); of the whole grid or, first_person, of the 7 x 7 cells ahead of it."""

    label: ClassVar[str] = "Navix task"
    order: ClassVar[int] = 6
    forms: ClassVar[tuple[str, ...]] = ("navix:ID",)
    packages: ClassVar[tuple[str, ...]] = ("navix",)
    common_scale: ClassVar[bool] = True
    prefix: ClassVar[str] = "navix:"
    library: ClassVar[str] = "navix"
    known: ClassVar[tuple[str, ...]] = NAMES
    example: ClassVar[str] = "Navix-DoorKey-8x8-v0"

    def describe(self) -> str:
        if self.short_name not in UNSOLVABLE:
            return ""
        return f"{self.name} has no solution and gives no reward: use {UNSOLVABLE[self.short_name]}"

    def make_adapter(self) -> "Adapter":
        import navix

        from action_balance.envs.navix.environment import Navix

        self.check_known(navix.registry())
        return Navix(self.short_name, self.observation, self.max_steps)
