"""Ctrl-C and SIGTERM: the first one stops what is under way where nothing is lost, the second one ends the process.

Python calls signal handlers in the main thread, between two instructions: not while that thread compiles, or waits for
a compiled program. On the command line, a thread therefore learns of signals as well: it says that the process stops,
and ends it at the second signal. What is being computed is then lost; files are written as a whole or not at all. A
program that calls `action_balance.train` is not ours to end: there, handlers alone act.
"""

import atexit
import contextlib
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

SIGNALS = (signal.SIGINT, signal.SIGTERM)
#: Exit code of a process that was interrupted.
INTERRUPTED = 130

#: Seconds within which signals count as one: programs such as `timeout` pass on signals that a run also gets itself.
TOGETHER = 0.1
#: Seconds that the main thread has to notice a signal where nothing is lost by ending at once.
NOTICE = 0.5
#: What the user can do while a process stops.
AGAIN = "press Ctrl-C again to stop immediately"

Item = TypeVar("Item")


class Stop(threading.Event):
    """Set by the first signal; who finds it set stops."""

    def __init__(self, stopping: Callable[[], str]) -> None:
        super().__init__()
        self.stopping = stopping

    def is_set(self) -> bool:
        """Whether to stop now."""
        found = super().is_set()
        for watcher in _watchers:
            if found:
                watcher.noticed.set()
        return found


#: What stops by itself, and what says what is kept, from the outermost to the innermost.
_stops: list[Stop] = []
_kept: list[Callable[[], str]] = []
#: The one of this process, or none.
_watchers: list["Watcher"] = []


@contextmanager
def graceful_stop(stopping: Callable[[], str] = lambda: "") -> Iterator[Stop]:
    """Let the first signal set a flag, which the body checks, and a later one interrupt.

    `stopping` says when the body will stop; it is empty while nothing is lost by ending at once.
    """
    stop, first = Stop(stopping), float("inf")

    def request(*_: object) -> None:
        nonlocal first
        now = time.monotonic()
        if now - first > TOGETHER:
            raise KeyboardInterrupt
        if not stop.is_set():
            _say(stopping())
        first = min(first, now)
        stop.set()

    with _added(_stops, stop):
        if _watchers or threading.current_thread() is not threading.main_thread():
            yield stop
            return
        # A signal that is ignored, as it is for background commands of a script, stays so.
        before = {one: signal.signal(one, request) for one in SIGNALS if signal.getsignal(one) is not signal.SIG_IGN}
        try:
            yield stop
        finally:
            for number, earlier in before.items():
                signal.signal(number, earlier)


@contextmanager
def kept(text: Callable[[], str]) -> Iterator[None]:
    """Say what is kept of the body's work if it is interrupted; what contains other work speaks for it."""
    with _added(_kept, text):
        try:
            yield
        except KeyboardInterrupt:
            raise KeyboardInterrupt(text()) from None


@contextmanager
def _added(items: list[Item], item: Item) -> Iterator[None]:
    items.append(item)
    try:
        yield
    finally:
        items.remove(item)


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # such as a terminal that is gone
        print(f"action-balance: {text or 'stopping'}; {AGAIN}", file=sys.stderr, flush=True)


class Watcher:
    """Answers the signals of a process of the command line."""

    def __init__(self, leave: Callable[[int], object] = os._exit) -> None:
        self._leave = leave
        self.loading = True  # libraries lose exceptions, or crash
        self.noticed = threading.Event()  # by the main thread
        self._code: int | None = None  # of a process whose work is done

    def handle(self, *_: object) -> None:
        """The signal handler of the main thread, whenever that can be called; only the first signal interrupts it."""
        if _stops:
            _stops[-1].set()
        elif not self.noticed.is_set() and not self.loading and self._code is None:
            self.noticed.set()
            raise KeyboardInterrupt

    def answer(self, reader: socket.socket) -> None:
        """Answer the first signal, and end the process at the second; runs in a thread of its own."""
        _wait(reader)
        if self._code is None and not self.loading:
            text = _stops[-1].stopping() if _stops else ""
            if text:
                _say(text)
            time.sleep(TOGETHER)
            reader.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                reader.recv(64)
            reader.setblocking(True)
            if not text:
                _say(text)
            if text or self.noticed.wait(NOTICE):
                _wait(reader)
        self.end()

    def end(self) -> None:
        """End the process now, with what is on the disk, and with the processes of its environments."""
        if "multiprocessing" in sys.modules:
            for process in sys.modules["multiprocessing"].active_children():
                process.kill()
        if sys.stdout is not sys.__stdout__ and os.isatty(1):  # a progress bar: it hides the cursor
            os.write(1, b"\x1b[?25h\n")
        if self._code is None:
            text = "nothing was written" if self.loading else "nothing was completed"
            try:
                text = _kept[0]() if _kept else text
            except Exception:  # such as a disk that is gone
                text = "what was saved before is kept"
            os.write(2, f"action-balance: interrupted; {text}\n".encode(errors="replace"))
        self._leave(INTERRUPTED if self._code is None else self._code)

    def finish(self, code: int) -> None:
        """All work is done: the next signal ends the process with this code, and an interrupted one ends now."""
        with contextlib.suppress(OSError, ValueError):
            print(end="", flush=True)
            print(end="", file=sys.stderr, flush=True)
        self._code = code
        if code == INTERRUPTED:  # libraries would take their time, and wait for threads
            self.end()

    def lost(self, error: "sys.UnraisableHookArgs") -> None:
        """End the process if the interrupt was raised where exceptions are lost, as in a destructor."""
        if isinstance(error.exc_value, KeyboardInterrupt):
            self.end()
        else:
            sys.__unraisablehook__(error)


def watch() -> Watcher:
    """Watch the signals of this process from now on; the main thread calls it once."""
    watcher = Watcher()
    _watchers.append(watcher)
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.detach(), warn_on_full_buffer=False)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, watcher.handle)
    sys.unraisablehook = watcher.lost
    atexit.register(ignore)  # the first to be registered is the last to be called
    threading.Thread(target=watcher.answer, args=[reader], name="signals", daemon=True).start()
    return watcher


def loaded() -> None:
    """From now on, the first signal may interrupt the main thread: libraries have been loaded."""
    for watcher in _watchers:
        watcher.loading = False


def ignore() -> None:
    """Ignore all signals: an interpreter that is being taken apart would die of them, with another exit code."""
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _wait(reader: socket.socket) -> None:
    """Wait for a signal."""
    while not {*reader.recv(64)} & {*SIGNALS}:
        pass
