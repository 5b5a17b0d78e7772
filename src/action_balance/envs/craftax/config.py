"""Settings of Craftax, which is imported when an environment is made."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from action_balance.envs.library.config import LibraryEnvConfig
from action_balance.envs.library.names import check_library_name

if TYPE_CHECKING:
    import jax

    from action_balance.envs.base import Environment
    from action_balance.envs.craftax.environment import CraftaxAdapter

PREFIX = "craftax:"

#: The environments, and the most achievements of an episode.
NAMES = {
    "Craftax-Classic-Symbolic-v1": 22,
    "Craftax-Classic-Pixels-v1": 22,
    "Craftax-Symbolic-v1": 67,
    "Craftax-Pixels-v1": 67,
}


@dataclass(frozen=True)
class CraftaxConfig(LibraryEnvConfig):
    """Craftax (Matthews et al., 2024), or Craftax-Classic, which is Crafter; as symbols or as pixels."""

    label: ClassVar[str] = "Craftax environment"
    order: ClassVar[int] = 5
    forms: ClassVar[tuple[str, ...]] = (f"{PREFIX}NAME",)
    packages: ClassVar[tuple[str, ...]] = ("craftax",)
    end_name: ClassVar[str] = "game over"
    info_names: ClassVar[tuple[str, ...]] = ("achievements",)
    prefix: ClassVar[str] = PREFIX
    library: ClassVar[str] = "craftax"
    known: ClassVar[tuple[str, ...]] = tuple(NAMES)
    example: ClassVar[str] = next(iter(NAMES))

    def __post_init__(self) -> None:
        super().__post_init__()
        check_library_name(self.name, PREFIX, NAMES)

    def make_adapter(self) -> "CraftaxAdapter":
        """The environment; see `LibraryEnvConfig.make_adapter`."""
        from action_balance.envs.craftax.environment import CraftaxAdapter

        return CraftaxAdapter(self.short_name, self.max_steps)

    def make(self, key: "jax.Array") -> "Environment":
        """The environment; nothing is drawn from the key."""
        from action_balance.envs.library.environment import LibraryEnvironment

        del key
        return LibraryEnvironment(self.adapter, self.adapter.episode_steps)
