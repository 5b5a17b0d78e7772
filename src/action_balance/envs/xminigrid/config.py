"""Settings of XLand-MiniGrid, of version 0.9.3; the library itself is imported when an environment is made."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from action_balance.config.fields import number
from action_balance.envs.library.config import LibraryEnvConfig
from action_balance.errors import MAX, UserError, check_name

if TYPE_CHECKING:
    from xminigrid.environment import Environment

    from action_balance.envs.library.adapter import Adapter

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

#: The largest view: no grid of the library is larger.
LARGEST_VIEW = 127


@dataclass(frozen=True)
class XMiniGridConfig(LibraryEnvConfig):
    """A task of XLand-MiniGrid: MiniGrid's tasks, or XLand's with a goal and rules (Nikulin et al., 2024)."""

    view_size: int | None = number(None, 3, LARGEST_VIEW)
    """Side of the square of cells that the agent sees ahead of it, an odd number (default: that of the library)."""
    show_carried: bool = False
    """Whether the agent's own cell shows what it carries, as in MiniGrid; XLand-MiniGrid itself does not show it."""
    benchmark: str = ""
    """Benchmark of the ruleset of an XLand task, e.g. trivial-21k; the library must have downloaded it before
    (default: no goal and no rules, so that there is no reward)."""
    ruleset: int = number(0, high=MAX)
    """Number of the ruleset in the benchmark."""

    label: ClassVar[str] = "XLand-MiniGrid task"
    settings_title: ClassVar[str | None] = "XLand-MiniGrid settings"
    order: ClassVar[int] = 7
    forms: ClassVar[tuple[str, ...]] = ("xminigrid:ID",)
    packages: ClassVar[tuple[str, ...]] = ("xminigrid",)
    has_images: ClassVar[bool | None] = False
    common_scale: ClassVar[bool] = True
    prefix: ClassVar[str] = "xminigrid:"
    library: ClassVar[str] = "xminigrid"
    known: ClassVar[tuple[str, ...]] = NAMES
    example: ClassVar[str] = "MiniGrid-DoorKey-8x8"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.view_size is not None and self.view_size % 2 == 0:
            raise UserError(f"--view-size must be an odd number, not {self.view_size}")
        if self.ruleset and not self.benchmark:
            raise UserError(f"--ruleset {self.ruleset} needs a benchmark, e.g. --benchmark trivial-21k")
        if self.benchmark and not self.short_name.startswith("XLand-"):
            raise UserError(f"{self.name} has its own goal: leave out --benchmark")

    def describe(self) -> str:
        if self.benchmark or self.short_name not in XLAND:
            return ""
        return f"{self.name} has no goal and gives no reward: choose a ruleset with --benchmark and --ruleset"

    def make_adapter(self) -> "Adapter":
        from xminigrid.registration import make, registered_environments

        from action_balance.envs.xminigrid.environment import XMiniGrid
        from action_balance.envs.xminigrid.tasks import make_task

        self.check_known([*registered_environments(), *OWN])
        given: dict[str, Any] = {"view_size": self.view_size, "max_steps": self.max_steps}
        changes = {name: value for name, value in given.items() if value is not None}
        if self.short_name in OWN:
            environment: Environment[Any, Any] = make_task(self.short_name)
            params = environment.default_params(**changes)
        else:
            environment, params = make(self.short_name, **changes)
        if self.benchmark:
            params = params.replace(ruleset=self._find_ruleset())
        return XMiniGrid(environment, params, self.show_carried)

    def _find_ruleset(self) -> Any:
        from xminigrid.benchmarks import DATA_PATH, NAME2HFFILENAME, load_benchmark, registered_benchmarks

        check_name("benchmark", self.benchmark, registered_benchmarks())
        if not os.path.exists(os.path.join(DATA_PATH, NAME2HFFILENAME[self.benchmark])):
            raise UserError(
                f"the benchmark {self.benchmark} is not in {DATA_PATH}, and nothing is downloaded here: run "
                f"python -c \"import xminigrid; xminigrid.load_benchmark('{self.benchmark}')\" first"
            )
        found = load_benchmark(self.benchmark)
        if self.ruleset >= found.num_rulesets():
            raise UserError(f"--ruleset must be below {found.num_rulesets():,}, not {self.ruleset:,}")
        return found.get_ruleset(self.ruleset)
