import io
import os
import sys

import pytest
from rich.console import Console
from rich.table import Table

from action_balance.terminal.console import OutputConsole, say


def test_the_console_falls_silent_when_its_reader_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    redirected: list[int] = []
    monkeypatch.setattr(os, "dup2", lambda _, to: redirected.append(to))
    console = OutputConsole(file=sys.__stdout__)
    console.on_broken_pipe()
    assert console.quiet
    assert len(redirected) == 1


@pytest.mark.parametrize("name", ["tr[/x]", "a:smiley:"])
def test_square_brackets_are_no_markup(name: str) -> None:
    screen = io.StringIO()
    console = OutputConsole(file=screen, width=60)
    table = Table(name, title=name)
    table.add_row(name)
    console.print(table)
    console.print(name)
    assert screen.getvalue().count(name) == 4


def test_what_is_said_is_one_line_of_any_console() -> None:
    screen = io.StringIO()
    say(Console(file=screen, width=20), "tr[/x]\nb \x1b", "second :x: " + "-" * 30)
    assert screen.getvalue() == "tr[/x]\\nb \\x1b\nsecond :x: " + "-" * 30 + "\n"


def test_a_terminal_with_few_characters_gets_escape_sequences() -> None:
    content = io.BytesIO()
    console = OutputConsole(file=io.TextIOWrapper(content, encoding="ascii"), width=60)
    say(console, "é")
    console.file.flush()
    assert content.getvalue() == b"\\xe9\n"
