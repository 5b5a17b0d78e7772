"""What a process is doing, and what becomes of it when the process is interrupted; see `action_balance.signals`."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


class Stop(threading.Event):
    """A request to stop. Who finds it set has to stop: from then on, the watcher waits for that."""

    def __init__(self, noticed: threading.Event | None = None) -> None:
        super().__init__()
        self._noticed = noticed

    def is_set(self) -> bool:
        """Whether to stop now."""
        found = super().is_set()
        if found and self._noticed is not None:
            self._noticed.set()
        return found


@dataclass(frozen=True, eq=False)
class Task:
    """Something under way, and what becomes of it when the process is interrupted."""

    kept: Callable[[], str] | None = None
    """Says what is kept of it, for the last line. What contains other tasks speaks for them."""
    stop: Stop | None = None
    """Set by the first signal; without it, the main thread gets a `KeyboardInterrupt`."""
    stopping: Callable[[], str] = lambda: ""
    """Says when it will stop; empty while nothing is lost by ending at once."""
    save: Callable[[], object] = lambda: None
    """Saves what would be lost, because the process ends now."""
    closing: float = 0.0
    """Seconds after SIGTERM in which it may end by itself, if they are more than usual."""
    ending: Callable[[], object] = lambda: None
    """Tells others that the process ends now; called first, and returns soon."""


#: What is under way, from the outermost to the innermost.
TASKS: list[Task] = []
#: Held while files are written, and by a process that ends at once.
FILES = threading.RLock()


@contextmanager
def task(under_way: Task) -> Iterator[None]:
    """Tell whoever answers signals what the body is doing; see `action_balance.signals`."""
    TASKS.append(under_way)
    try:
        yield
    finally:
        TASKS.remove(under_way)


@contextmanager
def critical_section() -> Iterator[None]:
    """Write what belongs together: a process that ends at once waits for it, for a moment."""
    with FILES:
        yield


def graceful_task() -> Task | None:
    """The innermost task that stops by itself."""
    return next((one for one in reversed(TASKS) if one.stop is not None), None)


def request_stop() -> None:
    """Stop what is under way as the first Ctrl-C does, because another process was asked to."""
    graceful = graceful_task()
    if graceful is not None and graceful.stop is not None:
        graceful.stop.set()
