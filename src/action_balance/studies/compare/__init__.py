"""Training runs side by side."""

from pathlib import Path

KIND = "compare"


def holds_result(folder: Path) -> bool:
    """Whether a folder holds a comparison, recognised by its tables."""
    return (folder / "curves.csv").is_file() and (folder / "comparison.csv").is_file()
