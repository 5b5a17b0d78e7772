"""Arrays by name in one ``.npz`` file, which `numpy.load` reads. Nothing in it is ever executed.

Checkpoints, results, agents and the bonuses of `action_balance.interop` are stored this way.
"""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from action_balance.errors import as_size
from action_balance.files import Data
from action_balance.reading import opened, parse_json

#: Most bytes of the arrays of a compressed file, which a small file could exceed by far.
MAX_BYTES = 2_000_000_000


class DamagedArrays(Exception):
    """A file whose checksums are wrong, or which does not hold arrays."""


def write_arrays(file: BinaryIO, arrays: Mapping[str, np.ndarray], compress: bool = False) -> None:
    """Write arrays to an open file; equal arrays in the same order give equal bytes."""
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, array in arrays.items():
            stored = array.view(f"u{array.itemsize}") if array.dtype.kind == "V" else array
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, stored, allow_pickle=False)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read what `write_arrays` has written, if all checksums are right. Somebody else may have made the file."""
    with opened(path, "a file of arrays (.npz)", None) as file:
        try:
            with zipfile.ZipFile(file) as archive:
                size = sum(entry.file_size for entry in archive.infolist())
                if size > max(MAX_BYTES, os.fstat(file.fileno()).st_size):
                    raise DamagedArrays(f"it has more than {as_size(MAX_BYTES)} of arrays")
                return {name.removesuffix(".npy"): _read_entry(archive, name) for name in archive.namelist()}
        except DamagedArrays:
            raise
        except Exception as error:  # of zipfile, zlib and NumPy, which raise many kinds for damaged files
            raise DamagedArrays("it is not a file of arrays") from error


def _read_entry(archive: zipfile.ZipFile, name: str) -> np.ndarray:
    with archive.open(name) as entry:
        array = np.lib.format.read_array(entry, allow_pickle=False)
        if entry.read(1):  # at the end, the checksum is compared
            raise DamagedArrays(f"{name} is longer than its shape")
    return array


def as_entry(about: Data) -> np.ndarray:
    """Plain data as an array, which describes the others."""
    return np.frombuffer(json.dumps(about, allow_nan=False).encode(), np.uint8)


def read_described(path: Path, entry: str) -> tuple[Any, dict[str, np.ndarray]]:
    arrays = read_arrays(path)
    try:
        return parse_json(arrays.pop(entry).tobytes()), arrays
    except (KeyError, ValueError) as error:
        raise DamagedArrays(f"its {entry} is missing or damaged") from error
