"""Interrupts that wait until nothing is lost by them."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: Seconds within which signals count as one: programs such as `timeout` pass on signals that a run also gets itself.
TOGETHER = 0.5


@contextmanager
def graceful_stop() -> Iterator[threading.Event]:
    """Turn the first Ctrl-C or SIGTERM into an event that is checked between updates; a later one interrupts at once.

    Yields:
        The event, which is set when a stop is requested.
    """
    stop = threading.Event()
    first = float("inf")

    def request(*_: object) -> None:
        nonlocal first
        now = time.monotonic()
        if now - first > TOGETHER:
            raise KeyboardInterrupt
        first = min(first, now)
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
