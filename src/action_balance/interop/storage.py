"""One file for all that a bonus has learned: arrays, and its settings as JSON. Nothing in it is ever executed."""

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from action_balance.errors import UserError
from action_balance.files import Data, reason, write_atomically
from action_balance.runs.leaves import Leaf, describe, difference, to_arrays, to_tree

#: Of the file. A change that older programs cannot read is a new one.
FORMAT = 1
#: The entry with the settings, as bytes.
_SETTINGS = "settings.json"

Settings = TypeVar("Settings")


def save(path: str | os.PathLike[str], kind: str, settings: Data, state: Any) -> None:
    """Write a file, or replace one; it is whole or not there."""
    header = {"action_balance": kind, "format": FORMAT, "settings": settings}
    names = [leaf.path for leaf in describe(state)]
    arrays: dict[str, Any] = dict(zip(names, to_arrays(state), strict=True))
    arrays[_SETTINGS] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays)
    write_atomically(Path(path), content.getvalue())


def load(
    path: str | os.PathLike[str], kind: str, settings_of: Callable[[Data], Settings], like: Callable[[Settings], Any]
) -> tuple[Settings, Any]:
    """Settings and state of a file.

    Args:
        path: of the file.
        kind: what it must hold.
        settings_of: makes settings of plain data; whatever it raises means that the file is none of ours.
        like: a tree of such a state, or of the shapes of its arrays.
    """
    header, arrays = _read(Path(path))
    if header["action_balance"] != kind:
        raise UserError(f"{path} holds {header['action_balance']}, not {kind}: load it with the class of that name")
    try:
        settings = settings_of(header["settings"])
        wanted = like(settings)
    except (KeyError, TypeError, ValueError, AttributeError, UserError):
        raise _foreign(path) from None
    found = [Leaf(name, array.dtype.name, array.shape) for name, array in arrays.items()]
    other = difference(found, describe(wanted))
    if other is not None:
        raise UserError(f"{path} does not fit its settings ({other}): use another copy of it")
    return settings, to_tree(list(arrays.values()), found, wanted)


def _read(path: Path) -> tuple[Data, dict[str, np.ndarray]]:
    """What is in a file, when its checksums are right."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {reason(error)}") from None
    try:
        # All checksums first: a damaged array could ask for any amount of memory.
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            intact = archive.testzip() is None
        if not intact:
            raise UserError(f"{path} is damaged: use another copy of it")
        with np.load(io.BytesIO(content), allow_pickle=False) as entries:
            arrays = {name: entries[name] for name in entries.files}
        header = json.loads(arrays.pop(_SETTINGS).tobytes())
        name, version = str(header["action_balance"]), int(header["format"])
    except (
        *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
        *(KeyError, TypeError, ValueError, AttributeError, RuntimeError, RecursionError),
    ):
        raise _foreign(path) from None
    if version != FORMAT:
        raise UserError(f"{path} has format {version}, and this version reads {FORMAT}: use the version that wrote it")
    return {"action_balance": name, "settings": header["settings"]}, arrays


def _foreign(path: str | os.PathLike[str]) -> UserError:
    return UserError(f"{path} is damaged or was not written by action_balance.interop: use another file")
