"""The page of ``reproduce bonuses``."""

from pathlib import Path

from action_balance.files import Data


def bonuses_page(folder: Path, summary: Data) -> str:
    """The page of a result."""
    del folder, summary
    return ""
