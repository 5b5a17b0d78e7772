"""A screen that is redrawn while lines are printed above it; without a terminal, there are only the lines."""

from abc import ABC, abstractmethod
from typing import Any, Self

from rich.console import Console, ConsoleRenderable
from rich.live import Live

from action_balance.terminal.console import say


class LiveScreen(ABC):
    """Shows what `render` returns, from the beginning to the end of a ``with`` statement."""

    def __init__(self, console: Console, **options: Any) -> None:
        self.console, self._options = console, options
        self._live: Live | None = None  # on a terminal, while it is shown

    @abstractmethod
    def render(self) -> ConsoleRenderable:
        """What a terminal shows now."""

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live = Live(console=self.console, get_renderable=self.render, transient=True, **self._options)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, line: str) -> None:
        say(self.console, line)

    def redraw(self) -> None:
        if self._live is not None:
            self._live.refresh()
