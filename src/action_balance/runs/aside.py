"""Where a run keeps what is no longer part of it: nothing that was written is deleted only because it is in the way.

``aside/0001-damaged/00000050`` is a checkpoint whose checksum was wrong, ``aside/0002-after-update-50/metrics.jsonl``
has the rows that a resumed run makes again. Every folder is numbered and says why. They are deleted with the run only.
"""

import os
import re
from pathlib import Path

from action_balance.errors import UserError
from action_balance.files import check_inside, reason, sync_folder

#: The folder of a run that has all of it.
ASIDE = "aside"


def new_aside(run: Path, why: str) -> Path:
    """Make a folder for things that are moved aside."""
    aside = run / ASIDE
    check_inside(run, aside)
    try:
        aside.mkdir(exist_ok=True)
        numbers = [int(match[1]) for name in os.listdir(aside) if (match := re.match(r"([0-9]{4,9})-", name))]
        folder = aside / f"{max(numbers, default=0) + 1:04d}-{why}"
        folder.mkdir()
        sync_folder(run)
        sync_folder(aside)
    except OSError as error:
        raise UserError(f"cannot move files to {aside}: {reason(error)}; nothing was changed") from None
    return folder


def move_aside(path: Path, folder: Path) -> Path:
    """Move a file or a folder, under its own name; a link is moved itself."""
    target = folder / path.name
    try:
        if os.path.lexists(target):
            raise FileExistsError(0, f"{target} exists")
        os.rename(path, target)
        sync_folder(folder)
        sync_folder(path.parent)
    except OSError as error:
        raise UserError(f"cannot move {path} to {folder}: {reason(error)}; it was not moved") from None
    return target
