"""Everything that a bonus has learned, as plain data: arrays, and its settings as JSON. In one file, or in a dictionary
that a loop keeps in a checkpoint of its own. Nothing in either is executed."""

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from action_balance.bonuses.base import Bonus
from action_balance.config import serialization
from action_balance.errors import UserError
from action_balance.files import Data, reason, write_atomically
from action_balance.interop.settings import BonusSettings, stored_class
from action_balance.interop.tensors import to_numpy
from action_balance.runs.array_file import DamagedArrays, as_entry, read_described, write_arrays
from action_balance.runs.tree_file import Leaf, OtherTree, to_arrays, to_tree

#: Version of the file. A change that older programs cannot read is a new one.
FORMAT = 3
#: The entry with the settings, as bytes.
_SETTINGS = "settings.json"
#: The entry of a dictionary with the arrays.
_ARRAYS = "arrays"

Settings = TypeVar("Settings", bound=BonusSettings)


def save(path: str | os.PathLike[str], kind: str, settings: Data, state: Any) -> None:
    """Write a file, or replace one, whole or not at all."""
    arrays = {**to_arrays(state), _SETTINGS: as_entry(_header(kind, settings))}
    write_atomically(Path(path), partial(write_arrays, arrays=arrays))


def load(path: str | os.PathLike[str], kind: str, of: type[Settings], own: Any) -> tuple[Settings, Bonus, Any]:
    """Read a file of `save`; ``own`` is the user's bonus, where it contains one."""
    try:
        header, arrays = read_described(Path(path), _SETTINGS)
    except DamagedArrays:
        raise _foreign(path) from None
    return _restore(str(path), kind, header, arrays, of, own)


def to_dict(kind: str, settings: Data, state: Any) -> dict[str, Any]:
    plain: Data = json.loads(json.dumps(_header(kind, settings)))
    return {**plain, _ARRAYS: {name: array.copy() for name, array in to_arrays(state).items()}}


def from_dict(state: Mapping[str, Any], kind: str, of: type[Settings], own: Any) -> tuple[Settings, Bonus, Any]:
    """Read a dictionary of `to_dict`, whose arrays may have become tensors."""
    name = "the state"
    try:
        arrays = {str(key): np.asarray(to_numpy(array)) for key, array in state[_ARRAYS].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise _foreign(name) from None
    return _restore(name, kind, state, arrays, of, own)


def _header(kind: str, settings: Data) -> Data:
    return {"action_balance": kind, "format": FORMAT, "settings": settings}


def _restore(
    source: str, kind: str, header: Any, arrays: dict[str, np.ndarray], of: type[Settings], own: Any
) -> tuple[Settings, Bonus, Any]:
    """The settings, the bonus and the state from what a file or a dictionary holds."""
    try:
        name, version = str(header["action_balance"]), int(header["format"])
    except (KeyError, TypeError, ValueError):
        raise _foreign(source) from None
    if version != FORMAT:
        raise UserError(
            f"{source} has format {version}, but this version reads {FORMAT}: use the version that wrote it"
        )
    if name != kind:
        raise UserError(f"{source} contains {name}, not {kind}: load it with the class of that name")
    try:
        settings = serialization.from_dict(of, header["settings"])
    except (KeyError, TypeError, ValueError, AttributeError, UserError):
        raise _foreign(source) from None
    found = stored_class(settings.bonus, own, of, source)
    try:
        bonus = settings.make(found)
        wanted = settings.shapes(bonus)
    except (TypeError, ValueError, AttributeError, UserError) as error:
        raise UserError(f"{source} does not fit the bonus {settings.bonus:.200}: {reason(error)}") from None
    table = [Leaf(entry, array.dtype.name, array.shape) for entry, array in arrays.items()]
    try:
        return settings, bonus, to_tree(arrays, table, wanted)
    except OtherTree as other:
        raise UserError(f"{source} does not match its settings ({other}): use another copy of it") from None


def _foreign(source: str | os.PathLike[str]) -> UserError:
    return UserError(f"{source} is damaged or was not written by action_balance.interop: use another file")
