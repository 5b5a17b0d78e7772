import os
import sys

import pytest

from action_balance.terminal.console import OutputConsole


def test_the_console_falls_silent_when_its_reader_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    redirected: list[int] = []
    monkeypatch.setattr(os, "dup2", lambda _, to: redirected.append(to))
    console = OutputConsole(file=sys.__stdout__)
    console.on_broken_pipe()
    assert console.quiet
    assert len(redirected) == 1
