"""Arrays by name in one ``.npz`` file, which `numpy.load` reads. Nothing in it is ever executed.

Checkpoints, results and the bonuses of `action_balance.interop` are stored this way.
"""

import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

#: What zipfile and NumPy raise for a file that is not what was written.
_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RecursionError, RuntimeError),
    *(KeyError, TypeError, ValueError, AttributeError, MemoryError),
)


class DamagedArrays(Exception):
    """A file whose checksums are wrong, or which does not hold arrays."""


def write_arrays(file: BinaryIO, arrays: Mapping[str, np.ndarray], compress: bool = False) -> None:
    """Write arrays to an open file; equal arrays in the same order give equal bytes.

    Args:
        file: open for writing.
        arrays: by name. Types that NumPy itself does not know, such as bfloat16, are stored as unsigned integers.
        compress: whether to compress them.
    """
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, array in arrays.items():
            stored = array.view(f"u{array.itemsize}") if array.dtype.kind == "V" else array
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, stored, allow_pickle=False)


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """Read what `write_arrays` has written, once all checksums are right.

    Raises:
        DamagedArrays: if the file is something else, or was changed.
        OSError: if the file cannot be opened.
    """
    with open(path, "rb") as file:
        try:
            # All checksums first: a damaged array could ask for any amount of memory.
            with zipfile.ZipFile(file) as archive:
                broken = archive.testzip()
            if broken is not None:
                raise DamagedArrays(f"the checksum of {broken} is wrong")
            file.seek(0)
            with np.load(file, allow_pickle=False) as entries:
                return {name: entries[name] for name in entries.files}
        except _DAMAGE as error:
            raise DamagedArrays("it is not a file of arrays") from error
