"""One file for everything that a bonus has learned: arrays, and its settings as JSON. Nothing in it is executed."""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from action_balance.errors import UserError
from action_balance.files import Data, write_atomically
from action_balance.reading import parse_json
from action_balance.runs.array_file import DamagedArrays, read_arrays, write_arrays
from action_balance.runs.leaves import Leaf, difference
from action_balance.runs.trees import describe, to_arrays, to_tree

#: Version of the file. A change that older programs cannot read is a new one.
FORMAT = 2
#: Names of arrays in version 1, which 0.1.0 wrote, and what they are called now.
_RENAMED = ((".distillation.predictor", ".params"), (".distillation.target", ".state"), (".observations", ".obs_stats"))
#: The entry with the settings, as bytes.
_SETTINGS = "settings.json"

Settings = TypeVar("Settings")


def save(path: str | os.PathLike[str], kind: str, settings: Data, state: Any) -> None:
    """Write a file, or replace one, whole or not at all.

    Args:
        path: of the file.
        kind: name of the class that is saved.
        settings: plain data.
        state: a pytree of arrays.
    """
    header = {"action_balance": kind, "format": FORMAT, "settings": settings}
    arrays = {**to_arrays(state), _SETTINGS: np.frombuffer(json.dumps(header).encode(), np.uint8)}
    write_atomically(Path(path), partial(write_arrays, arrays=arrays))


def load(
    path: str | os.PathLike[str], kind: str, settings_of: Callable[[Data], Settings], like: Callable[[Settings], Any]
) -> tuple[Settings, Any]:
    """Read a file.

    Args:
        path: of the file.
        kind: name of the class that it must hold.
        settings_of: makes settings from plain data; whatever it raises means that the file is not ours.
        like: a tree like the state of such settings, of arrays or of their shapes.

    Returns:
        The settings and the state.
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
    return settings, to_tree(arrays, found, wanted)


def _read(path: Path) -> tuple[Data, dict[str, np.ndarray]]:
    """What is in a file, if its checksums are right."""
    try:
        arrays = read_arrays(path)
        header = parse_json(arrays.pop(_SETTINGS).tobytes())
        name, version = str(header["action_balance"]), int(header["format"])
    except (DamagedArrays, KeyError, TypeError, ValueError, AttributeError):
        raise _foreign(path) from None
    if version == 1:
        for old, new in _RENAMED:
            arrays = {entry.replace(old, new, 1): array for entry, array in arrays.items()}
    elif version != FORMAT:
        raise UserError(f"{path} has format {version}, and this version reads {FORMAT}: use the version that wrote it")
    return {"action_balance": name, "settings": header["settings"]}, arrays


def _foreign(path: str | os.PathLike[str]) -> UserError:
    return UserError(f"{path} is damaged or was not written by action_balance.interop: use another file")
