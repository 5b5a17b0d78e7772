"""Stops that wait until nothing is lost by them."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds in which signals are one: `timeout` and other programs around a run pass on what the run also gets itself.
TOGETHER = 0.5


@contextmanager
def graceful_stop() -> Iterator[threading.Event]:
    """Ctrl-C and SIGTERM ask for a stop after the update under way, or compiling; a later one does not wait for it."""
    stop = threading.Event()
    asked = float("inf")

    def ask(*_: object) -> None:
        nonlocal asked
        now = time.monotonic()
        if now - asked > TOGETHER:
            raise KeyboardInterrupt
        asked = min(asked, now)
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
