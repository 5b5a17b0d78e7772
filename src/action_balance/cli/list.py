"""The command ``list``."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal

from action_balance.cli.form import Command

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class List(Command):
    """List environments, methods, bonuses, presets, tasks of the JAX libraries, and Atari games."""

    kind: Literal["environments", "methods", "bonuses", "presets", "tasks", "games"] | None = field(
        default=None, metadata={"positional": True}
    )
    """List only this kind: environments, methods, bonuses, presets, tasks or games."""
    gym: bool = False
    """Also list the environments registered with Gymnasium on this machine."""
    json: bool = False
    """Print JSON with all details."""

    @property
    def is_light(self) -> bool:
        """It is."""
        return True

    def load(self) -> Callable[["Console"], None]:
        """Import the lists."""
        from action_balance.terminal.listing import show

        return partial(show, self.kind, self.gym, self.json)
