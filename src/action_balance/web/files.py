"""Files of a folder that others may have made, as a page uses them: tables, figures, and media inside the page."""

import base64
import csv
import io
import math
import mimetypes
from collections.abc import Sequence
from pathlib import Path

from action_balance.errors import UserError
from action_balance.files import found_inside
from action_balance.reading import Damaged, Missing, Unreadable, entries, read_bytes, read_text

#: A saved page stays below this number of bytes.
MAX_BYTES = 10_000_000


def read_table(path: Path, words: Sequence[str], numbers: Sequence[str] = ()) -> list[dict[str, str]]:
    try:
        rows = list(csv.DictReader(io.StringIO(read_text(path, "a table (.csv)"), newline="")))
        fine = all(row[name] is not None for row in rows for name in words)
        fine = fine and all(math.isfinite(float(row[name] or 0)) for row in rows for name in numbers)
    except Missing:
        return []
    except (Damaged, KeyError, TypeError, ValueError, csv.Error):
        fine = False
    if not fine:
        raise UserError(f"{path} is damaged: reproduce the result with --overwrite")
    return rows


def read_figures(folder: Path) -> dict[str, str]:
    """The SVG figures of a result by name; a link that leads out of the folder is not followed."""
    drawn = {one.stem: found_inside(folder, one) for one in entries(folder / "figures") if one.suffix == ".svg"}
    return {name: read_text(file, "a figure (.svg)") for name, file in drawn.items() if file is not None}


def mime_type(path: Path) -> str:
    """The media type of a file, by its name."""
    return mimetypes.guess_type(path.name)[0] or "application/octet-stream"


class Embedded:
    """Embeds files in a page as long as there is room."""

    def __init__(self, used: int) -> None:
        self.left = MAX_BYTES - used - 100_000  # for the markup around them

    def link(self, folder: Path, path: Path) -> str | None:
        real = found_inside(folder, path)
        if real is None:
            return None
        try:
            content = read_bytes(real, "a picture or a film", max(0, 3 * (self.left - 100) // 4))
        except Unreadable:
            return None
        self.left -= 4 * len(content) // 3 + 100
        return f"data:{mime_type(path)};base64,{base64.b64encode(content).decode('ascii')}"
