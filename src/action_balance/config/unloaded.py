"""An environment of somebody's own family that is shown without importing the family."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from action_balance.config.env import EnvConfig
from action_balance.config.families import is_own
from action_balance.config.frozen import FrozenDict
from action_balance.config.registry import resolve_class
from action_balance.files import Data

if TYPE_CHECKING:
    from action_balance.config.agent import HostConfig


@dataclass(frozen=True)
class UnloadedEnvConfig(EnvConfig):
    """Name and settings as plain data: enough for tables and curves, not for making an environment."""

    settings: FrozenDict = field(default_factory=FrozenDict)
    """The settings, which only the family can check."""

    engine: ClassVar[Literal["device", "host"]] = "host"

    @property
    def sort_key(self) -> tuple[int, int, str, tuple[Any, ...]]:
        """Orders environments by name, then by their settings as text: they may be of any type."""
        return self.order, 0, self.name, tuple(sorted((key, repr(value)) for key, value in self.settings.items()))

    def check_host(self, host: "HostConfig") -> None:
        """Only the family knows which settings have an effect."""


def unloaded(config: Data) -> Data:
    """The settings of a run such that reading them imports no family of a user."""
    env = config.get("env")
    if not isinstance(env, dict) or not isinstance(env.get("name"), str) or not is_own(env["name"]):
        return config
    settings = {name: value for name, value in env.items() if name != "name"}
    return {**config, "env": {"name": env["name"], "settings": settings}}


def unloaded_class(kind: type, data: Data) -> type:
    """As `resolve_class`, but nothing outside of this package is imported."""
    name = data.get("name")
    return (
        UnloadedEnvConfig if kind is EnvConfig and isinstance(name, str) and is_own(name) else resolve_class(kind, data)
    )
