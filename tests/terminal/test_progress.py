from io import StringIO

import pytest
from rich.console import Console

from action_balance.terminal import progress
from action_balance.terminal.progress import progress_bar


def shown(terminal: bool, name: str = "playing") -> str:
    screen = StringIO()
    with progress_bar(Console(file=screen, width=100, force_terminal=terminal), name, 3, "games") as advance:
        advance(1)
        advance(1.5)
    return screen.getvalue()


def test_without_a_terminal_there_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    first, last = shown(False).splitlines()
    assert first == "playing: 3 games ..."
    assert last.startswith("playing: done in ")
    monkeypatch.setattr(progress, "LINE_EVERY", 0.0)
    assert shown(False).splitlines()[1:3] == ["playing: 1 of 3 games", "playing: 2 of 3 games"]


def test_on_a_terminal_the_bar_ends_full() -> None:
    assert "3/3" in shown(True)
