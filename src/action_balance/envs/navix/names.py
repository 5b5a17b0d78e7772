"""Names of Navix 0.7.4, which are known without importing it."""

from typing import Literal

#: What the agent sees; the names are those of the library's functions.
Observation = Literal[
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
