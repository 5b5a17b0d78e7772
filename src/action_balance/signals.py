"""Ctrl-C and SIGTERM: answered at once, even while the main thread computes, without losing what was trained.

Python calls signal handlers in the main thread, between two instructions. While that thread compiles, or waits for a
compiled program, no handler is called. On the command line, a `Watcher` therefore learns of signals in a thread of its
own, through `signal.set_wakeup_fd`: it answers, and ends the process where the main thread does not. A program that
calls `action_balance.train` is not ours to end: there, handlers alone act.
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
from types import FrameType

from action_balance.tasks import FILES, TASKS, Stop, Task, graceful_task, task

#: Seconds within which signals count as one: programs such as `timeout` pass on signals that a run also gets itself.
TOGETHER = 0.1
#: Seconds after which a signal is acknowledged if the process has not ended by then.
ACKNOWLEDGE = 0.1
#: Seconds that the main thread has to notice a signal where nothing is lost by ending at once.
NOTICE = 0.5
#: Seconds until an interrupt is repeated that was lost.
REPEAT = 0.01
#: Seconds after SIGTERM that an update has to finish; then the state from before the update is saved instead.
UPDATE = 4.0
#: Seconds after SIGTERM until the process ends, even if the main thread is still closing what is open.
CLOSING = 8.0
#: Seconds in which a process that ends at once writes what it can; after SIGTERM there is more time.
LAST_WORDS, LAST_WORDS_TERMINATED = 1.2, 5.0

#: What is said where nothing else is known.
KEPT, STOPPING = "what was saved before is kept", "stopping"
#: What the user can do while a process stops.
AGAIN = "press Ctrl-C again to stop immediately"

#: Exit code of a process that was interrupted.
INTERRUPTED = 130
SIGNALS = (signal.SIGINT, signal.SIGTERM)


_watchers: list["Watcher"] = []  # the one of this process, or none


def watched() -> bool:
    """Whether a watcher answers signals, and may end the process."""
    return bool(_watchers)


def abandon(why: str, code: int) -> None:
    """End the process now, after its last line; see `Watcher.abandon`. Without a watcher, nothing happens."""
    for watcher in _watchers:
        watcher.abandon(why, code)


def leave_at_once() -> None:
    """When all work is done, do not wait for what libraries would wait for."""
    for watcher in _watchers:
        watcher.hurries = True


@contextmanager
def graceful_stop() -> Iterator[Stop]:
    """Turn the first Ctrl-C or SIGTERM into an event that is checked between updates; a later one interrupts."""
    if _watchers:
        stop = Stop(_watchers[0].noticed)
        with task(Task(stop=stop)):
            yield stop
        return
    stop, first = Stop(), float("inf")

    def request(*_: object) -> None:
        nonlocal first
        now = time.monotonic()
        if now - first > TOGETHER:
            raise KeyboardInterrupt
        first = min(first, now)
        stop.set()

    with _handled(request), _acknowledged():
        yield stop


@contextmanager
def _acknowledged() -> Iterator[None]:
    """Acknowledge the first signal in a program of the user at once, even while the main thread computes.

    Nothing is done where something else, such as an event loop, watches for signals already.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    if before != -1:
        signal.set_wakeup_fd(before)

    said: list[threading.Thread] = []

    def listen() -> None:
        while numbers := reader.recv(64):
            if any(number in SIGNALS and signal.getsignal(number) is not signal.SIG_IGN for number in numbers):
                graceful = graceful_task()
                said.append(_print(f"{(graceful.stopping() if graceful else '') or STOPPING}; {AGAIN}"))
                return

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield
    finally:
        if before == -1:
            signal.set_wakeup_fd(-1)
        writer.close()  # ends the thread
        thread.join()
        reader.close()
        for line in said:
            line.join(LAST_WORDS)  # before what follows, unless the terminal is blocked


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM raise a `KeyboardInterrupt` in the body."""
    if _watchers:
        _watchers[0].loading = False
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with _handled(interrupt):
        yield


@contextmanager
def _handled(handler: Callable[..., None]) -> Iterator[None]:
    """Handle signals during the body, if this is the main thread; a signal that is ignored stays so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {one: signal.signal(one, handler) for one in SIGNALS if signal.getsignal(one) is not signal.SIG_IGN}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


class Watcher:
    """Decides what signals do. Its methods are called by a thread of its own, except where they say otherwise."""

    def __init__(
        self,
        leave: Callable[[int], object] = os._exit,
        say: Callable[[str], object] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Nothing is watched yet."""
        self._leave, self._say, self._clock = leave, say or _print, clock
        self.noticed = threading.Event()  # the main thread knows that it is to end
        self.loading = True  # libraries lose exceptions, or crash
        self._code: int | None = None  # with which the process ends anyway
        self._first: float | None = None  # when the first signal came
        self._terminated: float | None = None  # when the first SIGTERM came
        self._answered = False  # a line has acknowledged the first signal
        self._waits = False  # for the main thread, which is known to end, until the next signal
        self._saying: threading.Thread | None = None  # the line that is being shown
        self._repeated = 0  # signals that `repeat` has sent, and that are not the user's
        self.hurries = False  # libraries would wait for something that does not come

    def handle(self, _number: int, _frame: FrameType | None) -> None:
        """The signal handler of the main thread, whenever that can be called; only the first signal interrupts it."""
        graceful = graceful_task()
        if self._code is not None:
            self._leave(self._code)
        elif graceful is not None and graceful.stop is not None:
            graceful.stop.set()
        elif not self.loading and not self.noticed.is_set():
            self.noticed.set()
            raise KeyboardInterrupt

    def repeat(self, lost: "sys.UnraisableHookArgs") -> None:
        """Interrupt the main thread again: where nothing can be raised, as in a destructor, exceptions are lost."""
        if isinstance(lost.exc_value, KeyboardInterrupt):
            self._repeated += 1
            self.noticed.clear()
            threading.Timer(REPEAT, _interrupt_main_thread).start()  # not from here, where it would be lost again
        else:
            sys.__unraisablehook__(lost)

    def received(self, number: int) -> None:
        """Answer a signal."""
        if self._repeated and number == signal.SIGINT:
            self._repeated -= 1
            return
        now = self._clock()
        if self._code is not None:
            self._leave(self._code)
        elif number == signal.SIGTERM and self._terminated is None:
            self._terminated = now  # also after Ctrl-C: there is a limit now
            if self._first is None:
                self._begin(now)
        elif self._first is None:
            self._begin(now)
        elif now - self._first > TOGETHER:
            self._end(LAST_WORDS)

    def _begin(self, now: float) -> None:
        """Answer the first signal."""
        self._first = now
        if self.loading:
            self._end(LAST_WORDS)
            return
        graceful = graceful_task()
        if graceful is not None and graceful.stop is not None:
            graceful.stop.set()
            if text := graceful.stopping():
                self._waits = True
                self._acknowledge(text)

    def _acknowledge(self, text: str) -> None:
        self._answered = True
        saying = self._say(f"{text}; {AGAIN}")
        self._saying = saying if isinstance(saying, threading.Thread) else None

    def due(self) -> None:
        """Do what time requires, since the first signal."""
        if self._first is None or self._code is not None:
            return
        now, noticed = self._clock(), self.noticed.is_set()
        if self._terminated is not None and now - self._terminated >= self._limit(noticed):
            self._end(LAST_WORDS_TERMINATED if not noticed else LAST_WORDS)
            return
        if not self._answered and now - self._first >= ACKNOWLEDGE:
            self._acknowledge(STOPPING)
        if not self._waits and now - self._first >= NOTICE:
            self._waits = noticed
            if not noticed:
                self._end(LAST_WORDS)

    def _limit(self, noticed: bool) -> float:
        """Seconds after SIGTERM when the process ends, whether the main thread has noticed it or not."""
        return max(CLOSING if noticed else UPDATE, *(one.closing for one in TASKS), 0.0)

    @property
    def patience(self) -> float | None:
        """Seconds until `due` has something to do; None if only a signal can change anything."""
        if self._first is None or self._code is not None:
            return None
        moments = [] if self._answered else [self._first + ACKNOWLEDGE]
        moments += [] if self._waits else [self._first + NOTICE]
        if self._terminated is not None:
            moments += [self._terminated + self._limit(noticed) for noticed in (False, True)]
        later = [moment - self._clock() for moment in moments]
        return min((one for one in later if one > 0), default=0.1 if later else None)

    def _end(self, seconds: float, why: str = "interrupted", code: int = INTERRUPTED) -> None:
        """End the process, after as much as can be saved and said in the given time."""
        words = threading.Thread(target=self._last_words, args=(why, code), daemon=True)
        words.start()
        words.join(seconds)
        if words.is_alive():
            os.write(2, f"action-balance: {why}; {KEPT}\n".encode(errors="replace"))
        self._leave(code)

    def abandon(self, why: str, code: int) -> None:
        """End the process from any thread, because the main thread waits for something that does not come."""
        self._end(LAST_WORDS_TERMINATED, why, code)

    def _last_words(self, why: str, code: int) -> None:
        nothing = "nothing was written" if self.loading else "nothing was completed"
        if self._saying is not None:
            self._saying.join()
        for one in reversed(TASKS):
            with contextlib.suppress(Exception):
                one.ending()
        with FILES:
            for one in reversed(TASKS):
                with contextlib.suppress(Exception):
                    one.save()
            kept = next((one.kept for one in TASKS if one.kept is not None), lambda: nothing)
            try:
                text = kept()
            except Exception:  # such as a disk that is gone
                text = KEPT
            _leave_nothing_behind()
            os.write(2, f"action-balance: {why}; {text}\n".encode(errors="replace"))
            if self._leave is os._exit:
                os._exit(code)  # while no other thread can begin to write a file

    def finish(self, code: int) -> None:
        """End soon with an exit code, in the main thread: all work is done. A process that was interrupted ends now."""
        self._code = code
        if code == INTERRUPTED or self.hurries:
            _leave_nothing_behind()  # libraries would take their time, and wait for threads
            self._leave(code)


def watch() -> Watcher:
    """Watch the signals of this process from now on; the main thread calls it once."""
    watcher = Watcher()
    _watchers.append(watcher)
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as it is for background commands of a script
            signal.signal(number, watcher.handle)
    sys.unraisablehook = watcher.repeat
    atexit.register(ignore)  # the first to be registered is the last to be called
    names = (watcher, reader, writer)  # the writer would be closed if nobody kept it
    threading.Thread(target=_listen, args=names, name="signals", daemon=True).start()
    return watcher


def ignore() -> None:
    """Ignore all signals: an interpreter that is being taken apart would die of them, with another exit code."""
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _listen(watcher: Watcher, reader: socket.socket, _writer: socket.socket) -> None:
    while True:
        reader.settimeout(watcher.patience)
        try:
            numbers = reader.recv(64)
        except TimeoutError:
            numbers = b""
        for number in numbers:
            if number in SIGNALS:
                watcher.received(number)
        watcher.due()


def _interrupt_main_thread() -> None:
    if hasattr(signal, "pthread_kill"):  # not on Windows
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


def _print(line: str) -> threading.Thread:
    def show() -> None:
        with contextlib.suppress(OSError, ValueError):
            print(f"action-balance: {line}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    return thread


def _leave_nothing_behind() -> None:
    """End the processes of environments, write what is buffered, and give the terminal back."""
    if "multiprocessing" in sys.modules:
        import multiprocessing

        for process in multiprocessing.active_children():
            with contextlib.suppress(Exception):
                process.kill()
    shown = sys.stdout is not sys.__stdout__ and sys.__stdout__ is not None and sys.__stdout__.isatty()
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:  # as in a program without a terminal
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    if shown:  # a progress bar: it hides the cursor, and the line is not ended
        with contextlib.suppress(OSError):
            os.write(1, b"\x1b[?25h\n")
