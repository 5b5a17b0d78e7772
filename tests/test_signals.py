"""What signals do: who is interrupted, what is said, and when a process ends that does not end by itself."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from action_balance import signals
from action_balance.signals import INTERRUPTED, Watcher, graceful_stop, kept

#: The main thread computes in C, where no handler of Python runs.
COMPUTES = """
import hashlib, os
os.login_tty(0)
from action_balance import signals
signals.watch().loading = False
with signals.kept(lambda: "two updates"), signals.graceful_stop(lambda: "stopping soon"):
    print("computing", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 10**9)
"""


class Signals:
    """The socket that signals come from: what each call finds, or nothing yet."""

    def __init__(self, *found: bytes | None) -> None:
        self.found = list(found)

    def recv(self, _size: int) -> bytes:
        if (found := self.found.pop(0)) is None:
            raise BlockingIOError
        return found

    def setblocking(self, _blocks: bool) -> None:
        pass


CTRL_C, TERMINATE, OTHER = (bytes([number]) for number in (*signals.SIGNALS, signal.SIGALRM))


@pytest.fixture
def left() -> list[int]:
    """The codes with which the process would have ended."""
    return []


@pytest.fixture
def watcher(monkeypatch: pytest.MonkeyPatch, left: list[int]) -> Iterator[Watcher]:
    made = Watcher(left.append)
    made.loading = False
    monkeypatch.setattr(signals, "TOGETHER", 0.0)
    monkeypatch.setattr(signals, "NOTICE", 0.0)
    monkeypatch.setattr(signals, "_watchers", [made])
    yield made
    assert not signals._stops
    assert not signals._kept


def answer(watcher: Watcher, *found: bytes | None) -> None:
    script: Any = Signals(*found)
    watcher.answer(script)
    assert not script.found


@pytest.mark.parametrize("first", signals.SIGNALS)
def test_signals_that_come_together_are_one_and_a_later_one_interrupts(
    first: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with graceful_stop(lambda: "stopping soon") as stop:
        assert not stop.is_set()
        signal.raise_signal(first)
        assert stop.is_set()
        now += signals.TOGETHER
        signal.raise_signal(signal.SIGINT)  # as `timeout` passes it on: the checkpoint is still written
        now += 0.01
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    assert capsys.readouterr().err == f"action-balance: stopping soon; {signals.AGAIN}\n"


def test_a_signal_that_is_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with graceful_stop() as stop:
            signal.raise_signal(signal.SIGINT)
            assert not stop.is_set()
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_have_no_handlers() -> None:
    found = []

    def enter() -> None:
        with graceful_stop() as stop:
            found.append(stop.is_set())

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert found == [False]


def test_what_contains_other_work_says_what_is_kept() -> None:
    def interrupted() -> None:
        with kept(lambda: "half of a part"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="half of a part"):
        interrupted()
    with pytest.raises(KeyboardInterrupt, match="two parts"), kept(lambda: "two parts"):
        interrupted()


def test_the_first_signal_sets_the_flag_and_the_second_ends_the_process(
    watcher: Watcher, left: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    with kept(lambda: "update 3 is saved"), graceful_stop(lambda: "stopping soon") as stop:
        watcher.handle()
        assert stop.is_set()
        answer(watcher, OTHER, CTRL_C, TERMINATE, OTHER, TERMINATE)  # the second belongs to the first
    assert left == [INTERRUPTED]
    said = f"action-balance: stopping soon; {signals.AGAIN}\naction-balance: interrupted; update 3 is saved\n"
    assert capfd.readouterr().err == said


def test_a_main_thread_that_cannot_notice_is_ended_where_nothing_is_lost(
    watcher: Watcher, left: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    with graceful_stop():
        answer(watcher, CTRL_C, None)
    assert left == [INTERRUPTED]
    assert capfd.readouterr().err.endswith("action-balance: interrupted; nothing was completed\n")


def test_a_main_thread_that_notices_is_interrupted_once_and_has_time_to_end(watcher: Watcher, left: list[int]) -> None:
    with pytest.raises(KeyboardInterrupt):
        watcher.handle()
    watcher.handle()
    answer(watcher, CTRL_C, None, CTRL_C)
    assert left == [INTERRUPTED]


def test_while_libraries_load_nothing_is_raised_and_the_process_ends(
    watcher: Watcher, left: list[int], capfd: pytest.CaptureFixture[str]
) -> None:
    watcher.loading = True
    watcher.handle()
    answer(watcher, CTRL_C)
    assert left == [INTERRUPTED]
    assert capfd.readouterr().err == "action-balance: interrupted; nothing was written\n"
    signals.loaded()
    assert not watcher.loading


def test_a_process_whose_work_is_done_ends_with_its_own_code(watcher: Watcher, left: list[int]) -> None:
    watcher.finish(2)
    assert not left
    watcher.handle()
    answer(watcher, CTRL_C)
    watcher.finish(INTERRUPTED)
    assert left == [2, INTERRUPTED]


def test_an_interrupt_that_is_lost_in_a_destructor_ends_the_process(
    watcher: Watcher, left: list[int], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Fragile:
        def __del__(self) -> None:
            watcher.handle()

    def fail() -> str:
        raise OSError("the disk is gone")

    monkeypatch.setattr(sys, "unraisablehook", watcher.lost)
    with kept(fail):
        Fragile()
    assert left == [INTERRUPTED]
    assert capfd.readouterr().err == "action-balance: interrupted; what was saved before is kept\n"


@pytest.mark.skipif(not hasattr(os, "login_tty"), reason="needs a pseudo-terminal")
def test_a_process_whose_main_thread_is_in_c_answers_and_ends() -> None:
    screen, terminal = os.openpty()
    process = subprocess.Popen([sys.executable, "-c", COMPUTES], stdin=terminal)
    try:
        os.close(terminal)
        assert read_until(screen, b"computing")
        os.write(screen, b"\x03")  # Ctrl-C
        assert read_until(screen, b"stopping soon; press Ctrl-C again")  # or the test would hang
        while process.poll() is None:  # until one comes late enough not to belong to the first
            os.write(screen, b"\x03")
            time.sleep(0.05)
        assert process.returncode == INTERRUPTED
        assert read_until(screen, b"interrupted; two updates")
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
