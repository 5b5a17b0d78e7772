"""Settings of Navix; the library itself is imported when an environment is made."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, get_args

from action_balance.envs.library.config import LibraryEnvConfig
from action_balance.envs.library.names import check_library_name
from action_balance.envs.navix.names import NAMES, UNSOLVABLE, Observation
from action_balance.errors import check_name, flag

if TYPE_CHECKING:
    from action_balance.envs.library.adapter import Adapter

PREFIX = "navix:"


@dataclass(frozen=True)
class NavixConfig(LibraryEnvConfig):
    """A task of Navix: MiniGrid's tasks in JAX (Pignatelli et al., 2024)."""

    observation: Observation = "symbolic_first_person"
    """What the agent sees: the kind, the colour and the state of cells (symbolic), only their kind (categorical), or an
    image (rgb); of the whole grid or, first_person, of the 7 x 7 cells ahead of it."""

    label: ClassVar[str] = "Navix task"
    order: ClassVar[int] = 6
    forms: ClassVar[tuple[str, ...]] = ("navix:ID",)
    packages: ClassVar[tuple[str, ...]] = ("navix",)
    common_scale: ClassVar[bool] = True
    prefix: ClassVar[str] = PREFIX
    library: ClassVar[str] = "navix"
    known: ClassVar[tuple[str, ...]] = NAMES
    example: ClassVar[str] = "Navix-DoorKey-8x8-v0"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(flag("observation"), self.observation, get_args(Observation))

    def describe(self) -> str:
        """That there is no reward in tasks without a solution."""
        if self.short_name not in UNSOLVABLE:
            return ""
        return f"{self.name} has no solution and gives no reward: use {UNSOLVABLE[self.short_name]}"

    def make_adapter(self) -> "Adapter":
        """The environment of the library."""
        from action_balance.envs.navix.environment import Navix
        from action_balance.envs.navix.library import navix
        from action_balance.envs.navix.views import VIEWS

        check_library_name(self.name, PREFIX, navix.registry())
        view = VIEWS[self.observation]
        limit = {} if self.max_steps is None else {"max_steps": self.max_steps}
        return Navix(navix.make(self.short_name, observation_fn=view.observe, **limit), view)
