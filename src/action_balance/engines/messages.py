"""Lines for the user that come up during a run."""

from collections.abc import Callable
from queue import SimpleQueue

from action_balance.runs import RunFolder

#: Called with a line for the user.
OnMessage = Callable[[str], None]


class MessageLog:
    """Shows lines at once, from any thread, and writes them to the manifest between updates."""

    def __init__(self, show: OnMessage) -> None:
        self._show, self._kept = show, SimpleQueue[str]()

    def __call__(self, line: str) -> None:
        """Show a line, and keep it for the manifest."""
        self._show(line)
        self._kept.put(line)

    def write(self, folder: RunFolder) -> None:
        """Write the lines since the last call to the manifest of a run."""
        while not self._kept.empty():
            folder.note(self._kept.get())
