"""``list``: tables on a terminal, plain lines in a pipe, and JSON."""

import json

import pytest
from command import call
from rich.console import Console

from action_balance.catalog import KINDS, catalog
from action_balance.config.methods import METHODS
from action_balance.terminal.listing import show


def test_a_pipe_gets_a_line_for_each_entry(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list", "methods") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == [*METHODS]
    assert lines[1] == "ppo                         PPO without a bonus"
    assert call("list") == 0
    rows = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert rows == [[kind, item["name"]] for kind in KINDS for item in catalog(kind)]


def test_json_has_everything(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("list", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {kind: catalog(kind) for kind in KINDS}
    assert call("list", "bonuses", "--json") == 0
    assert json.loads(capsys.readouterr().out) == catalog("bonuses")


def test_a_terminal_gets_tables_with_the_games_of_the_paper_and_a_task_of_each_library() -> None:
    console = Console(width=100, force_terminal=True, no_color=True)
    with console.capture() as capture:
        show(None, False, False, console)
    shown = capture.get()
    assert all(kind.capitalize() in shown for kind in KINDS)
    assert "action-balance-rnd " in shown
    assert "atari:pitfall" in shown
    assert "atari:pong" not in shown
    assert "craftax:Craftax-Classic-Symbolic-v1" in shown
    assert f"{len(catalog('tasks')) - 4} more: action-balance list tasks" in shown
    assert f"{len(catalog('games')) - 6} more: action-balance list games" in shown
