"""Files of a folder that others may have made, as a page uses them: tables, figures, and media inside the page."""

import base64
import csv
import math
import mimetypes
from collections.abc import Sequence
from pathlib import Path

from action_balance.errors import UserError
from action_balance.files import found_inside

#: A saved page stays below this number of bytes.
MOST_BYTES = 10_000_000


def read_table(path: Path, words: Sequence[str], numbers: Sequence[str] = ()) -> list[dict[str, str]]:
    """The rows of a CSV file.

    Args:
        path: the file.
        words: columns of text that it must have.
        numbers: columns that it must have, whose fields are empty or finite numbers.

    Returns:
        A dict for each row; no rows where there is no such file.
    """
    if not path.exists():
        return []
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        fine = all(row[name] is not None for row in rows for name in words)
        fine = fine and all(math.isfinite(float(row[name] or 0)) for row in rows for name in numbers)
    except (OSError, KeyError, TypeError, ValueError, csv.Error):  # ValueError: also bytes that are no text
        fine = False
    if not fine:
        raise UserError(f"{path} is damaged: reproduce the result with --overwrite")
    return rows


def read_figures(folder: Path) -> dict[str, str]:
    """The SVG figures of a result by name; a link that leads out of the folder is not followed."""
    try:
        drawn = {one.stem: found_inside(folder, one) for one in sorted((folder / "figures").glob("*.svg"))}
        return {name: file.read_text(encoding="utf-8") for name, file in drawn.items() if file is not None}
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"cannot read the figures of {folder}: {error}; reproduce the result with --overwrite"
        ) from None


def mime_type(path: Path) -> str:
    """The media type of a file, by its name."""
    return mimetypes.guess_type(path.name)[0] or "application/octet-stream"


class Embedded:
    """Embeds files in a page as long as there is room."""

    def __init__(self, used: int) -> None:
        self.left = MOST_BYTES - used - 100_000  # for the markup around them

    def link(self, folder: Path, path: Path) -> str | None:
        """A file as a data URL.

        Args:
            folder: what links must not lead out of.
            path: the file in it.

        Returns:
            The URL; None where the file is too large, cannot be read, or is outside of the folder.
        """
        real = found_inside(folder, path)
        if real is None:
            return None
        try:
            size = 4 * real.stat().st_size // 3 + 100
            if size > self.left:
                return None
            self.left -= size
            content = base64.b64encode(real.read_bytes()).decode("ascii")
        except OSError:
            return None
        return f"data:{mime_type(path)};base64,{content}"
