"""Settings of the combination lock."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from action_balance.config.env import DeviceEnvConfig
from action_balance.config.fields import count, number

if TYPE_CHECKING:
    import jax

    from action_balance.envs.base import Environment

#: The largest N and the largest K.
LARGEST = 1000


@dataclass(frozen=True)
class LockConfig(DeviceEnvConfig):
    """Combination lock: in each of N stages, one of K actions opens the next, and any other ends the episode."""

    size: int = count(6, LARGEST)
    """Number N of stages, and of steps in the longest episode."""
    actions: int = number(18, 2, LARGEST)
    """Number K of actions."""

    label: ClassVar[str] = "combination lock"
    order: ClassVar[int] = 1  # after the deep sea, which has the same
    preset: ClassVar[str] = "chains"
    forms: ClassVar[tuple[str, ...]] = ("lock",)
    has_images: ClassVar[bool | None] = False
    common_scale: ClassVar[bool] = True

    @property
    def short_name(self) -> str:
        return f"{self.name} {self.size} with {self.actions} actions"

    @property
    def title(self) -> str:
        """Name and settings in words; another family that extends this one keeps its own name."""
        return f"Combination {self.short_name}" if self.name == "lock" else self.short_name

    def make(self, key: "jax.Array") -> "Environment":
        from action_balance.envs.lock.environment import Lock

        return Lock(self.size, self.actions, key)
