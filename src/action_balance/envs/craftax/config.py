"""Settings of Craftax, which is imported when an environment is made."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from action_balance.envs.library.config import LibraryEnvConfig

if TYPE_CHECKING:
    from action_balance.envs.library.adapter import Adapter


@dataclass(frozen=True)
class CraftaxConfig(LibraryEnvConfig):
    """Craftax (Matthews et al., 2024), or Craftax-Classic, which is Crafter; as symbols or as pixels."""

    label: ClassVar[str] = "Craftax environment"
    order: ClassVar[int] = 5
    forms: ClassVar[tuple[str, ...]] = ("craftax:NAME",)
    packages: ClassVar[tuple[str, ...]] = ("craftax",)
    end_name: ClassVar[str] = "game over"
    info_names: ClassVar[tuple[str, ...]] = ("achievements",)
    prefix: ClassVar[str] = "craftax:"
    library: ClassVar[str] = "craftax"
    known: ClassVar[tuple[str, ...]] = (
        "Craftax-Classic-Symbolic-v1",
        "Craftax-Classic-Pixels-v1",
        "Craftax-Symbolic-v1",
        "Craftax-Pixels-v1",
    )
    example: ClassVar[str] = known[0]

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_known(self.known)

    def make_adapter(self) -> "Adapter":
        from action_balance.envs.craftax.environment import CraftaxAdapter

        return CraftaxAdapter(self.short_name, self.max_steps)
