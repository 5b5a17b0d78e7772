"""When a run that was asked to stop does stop."""

import signal
import time

import pytest

from action_balance.engines import signals as stopping
from action_balance.engines.signals import graceful_stop


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
        now += stopping.TOGETHER
        signal.raise_signal(signal.SIGINT)  # as `timeout` passes it on: the checkpoint is still written
        now += 0.01
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
