"""Lines for the user that come up while a run goes on."""

from collections.abc import Callable
from queue import SimpleQueue

from action_balance.runs import RunFolder

#: Is called with a line for the user.
Say = Callable[[str], None]


class MessageLog:
    """What environments say, from any thread: shown at once, and kept in the manifest between updates."""

    def __init__(self, show: Say) -> None:
        self._show, self._kept = show, SimpleQueue[str]()

    def __call__(self, line: str) -> None:
        """Show a line, and remember it."""
        self._show(line)
        self._kept.put(line)

    def keep(self, folder: RunFolder) -> None:
        """Write down what was said."""
        while not self._kept.empty():
            folder.note(self._kept.get())
