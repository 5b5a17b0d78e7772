"""Names of the environments in XLand-MiniGrid 0.9.3, which are suggested and completed without importing it."""

#: Layouts of the XLand tasks: number of rooms, and the sizes there are.
_LAYOUTS = {1: (9, 11, 13, 15, 17), 2: (9, 11, 13, 15, 17), 4: (9, 11, 13, 15, 17), 6: (13, 17, 19), 9: (16, 19, 25)}

#: Tasks of MiniGrid, as the library has them.
MINIGRID = (
    *(f"MiniGrid-DoorKey-{size}x{size}" for size in (5, 6, 8, 16)),
    *(f"MiniGrid-Empty-{size}x{size}" for size in (5, 6, 8, 16)),
    *(f"MiniGrid-EmptyRandom-{size}x{size}" for size in (5, 6, 8, 16)),
    "MiniGrid-FourRooms",
    "MiniGrid-LockedRoom",
    *(f"MiniGrid-MemoryS{size}" for size in (8, 16, 32, 64, 128)),
    "MiniGrid-Playground",
    "MiniGrid-Unlock",
    "MiniGrid-UnlockPickUp",
    "MiniGrid-BlockedUnlockPickUp",
)

#: Tasks whose goal and rules come from a ruleset.
XLAND = tuple(f"XLand-MiniGrid-R{rooms}-{size}x{size}" for rooms, sizes in _LAYOUTS.items() for size in sizes)

#: MiniGrid's tasks that the library does not have, and this package adds.
OWN = (
    *(f"KeyCorridor-{size}" for size in ("S3R1", "S3R2", "S3R3", "S4R3", "S5R3", "S6R3")),
    *(f"MultiRoom-{size}" for size in ("N2-S4", "N4-S5", "N6-S5", "N6-S7")),
)

NAMES = (*MINIGRID, *OWN, *XLAND)
