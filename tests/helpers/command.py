"""The command line, called as a function."""

from action_balance.cli import main as cli


def call(*arguments: str) -> int:
    """Exit code of a command."""
    try:
        cli.main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0
