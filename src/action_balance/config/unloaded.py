"""An environment of somebody's own family, and somebody's own algorithm, that are shown without importing them."""

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from action_balance.config.algorithm import ALGORITHMS, AlgorithmConfig
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


@dataclass(frozen=True)
class UnloadedAlgorithmConfig(AlgorithmConfig):
    """The settings that every algorithm has, and others as plain data."""

    settings: FrozenDict = field(default_factory=FrozenDict)


def unloaded(config: Data, env: bool = True, algorithm: bool = True) -> Data:
    """The settings of a run such that reading them imports no environment of a user, and no algorithm."""
    found, agent = config.get("env"), config.get("agent")
    if env and isinstance(found, dict) and isinstance(found.get("name"), str) and is_own(found["name"]):
        settings = {name: value for name, value in found.items() if name != "name"}
        config = {**config, "env": {"name": found["name"], "settings": settings}}
    found = agent.get("algorithm") if isinstance(agent, dict) else None
    if algorithm and isinstance(agent, dict) and isinstance(found, dict) and found.get("name") not in ALGORITHMS:
        common = {one.name: found[one.name] for one in fields(AlgorithmConfig) if one.name in found}
        rest = {name: value for name, value in found.items() if name not in common}
        config = {**config, "agent": {**agent, "algorithm": {**common, "settings": rest}}}
    return config


def unloaded_class(kind: type, data: Data, env: bool = True, algorithm: bool = True) -> type:
    """As `resolve_class`, but nothing outside of this package is imported."""
    name = data.get("name")
    if env and kind is EnvConfig and isinstance(name, str) and is_own(name):
        return UnloadedEnvConfig
    if algorithm and kind is AlgorithmConfig and name not in ALGORITHMS:
        return UnloadedAlgorithmConfig
    return resolve_class(kind, data)
