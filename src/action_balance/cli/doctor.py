"""The command ``doctor``."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from action_balance.cli.form import Command

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Doctor(Command):
    """Show versions and devices, and run a self-test."""

    def load(self) -> Callable[["Console"], None]:
        """Import the self-test."""
        from action_balance.doctor import examine

        return examine
