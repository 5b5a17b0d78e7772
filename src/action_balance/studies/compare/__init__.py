"""Training runs side by side."""

from pathlib import Path

from action_balance.reading import is_file

KIND = "compare"


def holds_result(folder: Path) -> bool:
    """Whether a folder holds a comparison, recognised by its tables."""
    return all(is_file(folder / name) for name in ("curves.csv", "comparison.csv"))
