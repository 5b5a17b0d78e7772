"""What signals do: who is interrupted, what is said, and when a process ends that does not end by itself."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from action_balance import signals, tasks
from action_balance.signals import INTERRUPTED, Watcher, graceful_stop, interruptible
from action_balance.tasks import Stop, Task, critical_section, task

#: The main thread computes in C, where no handler of Python runs, even if a signal comes just before.
COMPUTES = """
    try:
        print("computing", flush=True)
        hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
    except KeyboardInterrupt:
        hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
"""
#: On the command line, and in a program of the user.
COMMAND = f"signals.watch().loading = False\nif True:{COMPUTES}"
PROGRAM = f"with signals.graceful_stop():{COMPUTES}"


@dataclass
class Watched:
    """A process without signals and without time."""

    now: float = 100.0
    said: list[str] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    watcher: Watcher = field(init=False)

    def __post_init__(self) -> None:
        self.watcher = Watcher(self.left.append, self.said.append, lambda: self.now)
        self.watcher.loading = False

    def send(self, number: int = signal.SIGINT) -> None:
        """A signal, while the main thread is inside a compiled program."""
        self.watcher.received(number)

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.watcher.due()


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    made = Watched()
    monkeypatch.setattr(signals, "LAST_WORDS", 60.0)  # however slow the machine is
    monkeypatch.setattr(signals, "LAST_WORDS_TERMINATED", 60.0)
    monkeypatch.setattr(signals, "_watchers", [made.watcher])
    yield made
    assert not tasks.TASKS


@pytest.fixture
def last_line(capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    return lambda: capfd.readouterr().err


def handled(number: int = signal.SIGINT) -> None:
    signals._watchers[0].handle(number, None)


@pytest.mark.parametrize("first", [signal.SIGINT, signal.SIGTERM])
def test_signals_that_come_together_are_one_and_a_later_one_does_not_wait(
    first: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with graceful_stop() as stop:
        assert not stop.is_set()
        signal.raise_signal(first)
        assert stop.is_set()
        now += signals.TOGETHER
        signal.raise_signal(signal.SIGINT)  # as `timeout` passes it on: the checkpoint is still written
        now += 0.01
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with graceful_stop() as stop, interruptible():
            signal.raise_signal(signal.SIGINT)
            assert not stop.is_set()
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_have_no_handlers() -> None:
    found = []

    def enter() -> None:
        with graceful_stop() as stop, interruptible():
            found.append(stop.is_set())

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == [False]


def test_a_main_thread_that_cannot_notice_is_ended_with_what_is_kept(
    process: Watched, last_line: Callable[[], str]
) -> None:
    with task(Task(lambda: "two parts")), task(Task(lambda: "half of a part")):
        process.send()
        process.later(signals.NOTICE - 0.01)
        assert not process.left
        process.later(0.01)
    assert process.left == [INTERRUPTED]
    assert last_line() == "action-balance: interrupted; two parts\n"
    assert [line.split(";")[0] for line in process.said] == ["stopping"]  # before the end


def test_a_main_thread_that_ends_quickly_says_one_line(process: Watched) -> None:
    process.send()
    process.later(signals.ACKNOWLEDGE - 0.01)
    assert not process.said
    assert process.watcher.patience == pytest.approx(0.01)


def test_a_main_thread_that_unwinds_is_given_time_until_the_second_interrupt(
    process: Watched, last_line: Callable[[], str]
) -> None:
    process.send()
    with pytest.raises(KeyboardInterrupt):
        handled()
    handled()  # only once
    process.later(signals.NOTICE)
    assert len(process.said) == 1
    process.later(1000)
    assert (len(process.said), process.left) == (1, [])
    process.send()
    assert process.left == [INTERRUPTED]
    assert last_line() == "action-balance: interrupted; nothing was completed\n"


def test_an_interrupt_that_is_lost_in_a_destructor_is_repeated(
    process: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fragile:
        def __del__(self) -> None:
            handled()

    def lose() -> None:
        Fragile()
        time.sleep(60)

    monkeypatch.setattr(sys, "unraisablehook", process.watcher.repeat)
    before = signal.signal(signal.SIGINT, process.watcher.handle)
    try:
        with pytest.raises(KeyboardInterrupt):
            lose()
    finally:
        signal.signal(signal.SIGINT, before)
    process.send()  # what came of the repetition is not the user's
    assert process.watcher.patience is None
    process.send()
    assert process.watcher.patience == pytest.approx(signals.ACKNOWLEDGE)


def test_while_libraries_load_nothing_is_raised_and_the_process_ends(
    process: Watched, last_line: Callable[[], str]
) -> None:
    process.watcher.loading = True
    handled()
    process.send()
    assert process.left == [INTERRUPTED]
    assert last_line() == "action-balance: interrupted; nothing was written\n"
    with interruptible():
        assert not process.watcher.loading


def test_work_that_stops_by_itself_is_waited_for_and_the_second_interrupt_saves(
    process: Watched, last_line: Callable[[], str]
) -> None:
    saved: list[str] = []
    with graceful_stop() as stop:
        work = Task(lambda: f"{saved}", stop, lambda: "stopping soon", lambda: saved.append("a"))
        with task(work):
            process.send()
            handled()
            assert threading.Event.is_set(stop)
            assert process.said[0].startswith("stopping soon; ")
            process.send()  # the same, passed on
            process.later(1000)
            assert not process.left
            process.send()
    assert (process.left, len(process.said)) == ([INTERRUPTED], 1)
    assert last_line() == "action-balance: interrupted; ['a']\n"


def test_after_sigterm_what_is_under_way_has_seconds(process: Watched, last_line: Callable[[], str]) -> None:
    saved: list[str] = []
    work = Task(lambda: f"{saved}", Stop(), lambda: "stopping soon", lambda: saved.append("a"))
    with task(work):
        process.send(signal.SIGTERM)
        process.send(signal.SIGTERM)
        process.later(signals.UPDATE - 1)
        assert (process.left, saved, process.watcher.patience) == ([], [], 1)
        process.later(1)
    assert (process.left, saved) == ([INTERRUPTED], ["a"])
    assert last_line() == "action-balance: interrupted; ['a']\n"


def test_after_sigterm_a_main_thread_that_has_noticed_has_more_of_them(process: Watched) -> None:
    with graceful_stop() as stop, task(Task(stop=stop, stopping=lambda: "stopping soon")):
        process.send()  # Ctrl-C, to which the other adds a limit
        process.now += 1
        process.send(signal.SIGTERM)
        assert stop.is_set()
        process.later(signals.UPDATE)
        assert not process.left
        assert process.watcher.patience == signals.CLOSING - signals.UPDATE
        process.later(signals.CLOSING - signals.UPDATE)
        assert process.left == [INTERRUPTED]


def test_files_that_are_being_written_are_completed_first(process: Watched, last_line: Callable[[], str]) -> None:
    begun, file = threading.Event(), list[str]()

    def write() -> None:
        with critical_section():
            begun.set()
            file.append("half")
            hurry.wait()
            file.append("whole")

    def kept() -> str:
        return file[-1]

    hurry = threading.Event()
    thread = threading.Thread(target=write)
    thread.start()
    begun.wait()
    with task(Task(kept)):
        process.send()
        threading.Timer(0.0, hurry.set).start()
        process.later(signals.NOTICE)
    thread.join()
    assert (file, process.left) == (["half", "whole"], [INTERRUPTED])
    assert last_line() == "action-balance: interrupted; whole\n"


def test_a_disk_that_hangs_does_not_keep_the_process(
    process: Watched, last_line: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "LAST_WORDS", 0.0)
    hangs = threading.Event()
    with task(Task(save=hangs.wait)):
        process.send()
        process.later(signals.NOTICE)
        assert process.left == [INTERRUPTED]
        assert last_line() == "action-balance: interrupted; what was saved before is kept\n"
    hangs.set()
    with tasks.FILES:
        pass


def test_errors_while_a_process_ends_are_not_shown(process: Watched, last_line: Callable[[], str]) -> None:
    def fail() -> str:
        raise OSError("the disk is gone")

    with task(Task(fail, save=fail)):
        process.send()
        process.later(signals.NOTICE)
    assert last_line() == "action-balance: interrupted; what was saved before is kept\n"


def test_a_process_whose_work_is_done_ends_with_its_own_code(process: Watched) -> None:
    process.watcher.finish(2)
    process.later(1000)
    assert not process.left
    process.send()
    handled()
    assert process.left == [2, 2]
    process.watcher.finish(INTERRUPTED)
    assert process.left == [2, 2, INTERRUPTED]


def test_an_interpreter_that_is_ending_is_left_alone() -> None:
    before = {number: signal.getsignal(number) for number in signals.SIGNALS}
    try:
        signals.ignore()
        for number in signals.SIGNALS:
            signal.raise_signal(number)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_a_stop_is_noticed_by_who_asks() -> None:
    noticed = threading.Event()
    stop = Stop(noticed)
    assert (stop.is_set(), noticed.is_set()) == (False, False)
    stop.set()
    assert not noticed.is_set()
    assert stop.is_set()
    assert noticed.is_set()


@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="needs a pseudo-terminal")
@pytest.mark.parametrize("code", [COMMAND, PROGRAM])
@pytest.mark.parametrize("number", signals.SIGNALS)
def test_a_signal_is_acknowledged_while_the_main_thread_is_in_c(code: str, number: signal.Signals) -> None:
    screen, terminal = os.openpty()
    prepared = f"import hashlib, os; os.login_tty(0); from action_balance import signals\n{code}"
    process = subprocess.Popen([sys.executable, "-c", prepared], stdin=terminal)
    try:
        os.close(terminal)
        assert read_until(screen, b"computing")
        if number == signal.SIGINT:
            os.write(screen, b"\x03")  # Ctrl-C
        else:
            process.send_signal(number)
        assert read_until(screen, b"stopping; press Ctrl-C again")  # or the test would hang
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def read_until(screen: int, text: bytes) -> bool:
    """Whether a text appears on a terminal before its program ends."""
    shown = b""
    while text not in shown:
        try:
            shown += os.read(screen, 1024)
        except OSError:  # on Linux, after the program has ended
            return False
    return True
