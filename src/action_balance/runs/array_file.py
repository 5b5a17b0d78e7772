"""Arrays by name in one ``.npz`` file, which `numpy.load` reads. Nothing in it is ever executed.

Checkpoints, results and the bonuses of `action_balance.interop` are stored this way.
"""

import math
import os
import re
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np

from action_balance.errors import as_size
from action_balance.machine import Need, available_memory, check_memory
from action_balance.reading import opened

#: Most bytes of all compressed arrays of a file, which a small file could exceed by far, and most arrays.
MAX_BYTES, MAX_ARRAYS = 2_000_000_000, 10_000

#: Bytes that are read at once.
PIECE = 1 << 20

#: How an entry begins: a magic string, version 1.0 of NumPy's format, and the length of the header.
_START = struct.Struct("<8sH")
_MAGIC = b"\x93NUMPY\x01\x00"
#: The header as NumPy writes it for an array of plain numbers or of text.
_HEADER = re.compile(
    r"\{'descr': '([<>|][biufcSU][0-9]{1,9})', 'fortran_order': (True|False), "
    r"'shape': \((?:([0-9]{1,18}(?:, [0-9]{1,18}){0,31}),?)?\), \} *\n"
)
#: The flag of a compressed file that is encrypted.
_ENCRYPTED = 1


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
    """Read what `write_arrays` has written. Somebody else may have made the file, so nothing in it is trusted: an array
    takes memory only if its entry is as long as its header says, and each checksum must be right.
    """
    with opened(path, "a file of arrays (.npz)", None) as file:
        size = os.fstat(file.fileno()).st_size
        check_memory(str(path), [Need("its arrays", size, "a machine with more memory")], available_memory())
        try:
            with zipfile.ZipFile(file) as archive:
                return _read_archive(archive, size)
        except DamagedArrays:
            raise
        except Exception as error:  # of zipfile, zlib and NumPy, which raise many kinds for damaged files
            raise DamagedArrays("it is not a file of arrays") from error


def _read_archive(archive: zipfile.ZipFile, size: int) -> dict[str, np.ndarray]:
    entries = archive.infolist()
    names = {entry.filename for entry in entries}
    if len(names) < len(entries) or not all(name.endswith(".npy") for name in names):
        raise DamagedArrays("its arrays have missing or duplicate names")
    sizes = dict.fromkeys((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED), 0)
    for entry in entries:
        if entry.compress_type not in sizes or entry.flag_bits & _ENCRYPTED:
            raise DamagedArrays(f"{entry.filename} has changed since it was written")
        sizes[entry.compress_type] += entry.file_size
    if len(entries) > MAX_ARRAYS or sizes[zipfile.ZIP_STORED] > size or sizes[zipfile.ZIP_DEFLATED] > MAX_BYTES:
        raise DamagedArrays(f"it has more than {MAX_ARRAYS:,} arrays, or {as_size(MAX_BYTES)} of them")
    return {entry.filename.removesuffix(".npy"): _read_entry(archive, entry) for entry in entries}


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(entry) as file:
        magic, length = _START.unpack(file.read(_START.size))
        header = _HEADER.fullmatch(file.read(length).decode("latin1"))
        if magic != _MAGIC or header is None:
            raise DamagedArrays(f"{entry.filename} is not an array of numbers")
        dtype, shape = np.dtype(header[1]), tuple(map(int, header[3].split(","))) if header[3] else ()
        size = math.prod(shape) * dtype.itemsize
        if size != entry.file_size - _START.size - length or (dtype.itemsize == 0 and 0 not in shape):
            raise DamagedArrays(f"{entry.filename} is shorter or longer than its shape")
        content = bytearray(size)
        view, at = memoryview(content), 0
        while at < size:
            piece = file.read(min(PIECE, size - at))
            if not piece:
                raise DamagedArrays(f"{entry.filename} is cut off")
            view[at : at + len(piece)] = piece
            at += len(piece)
        file.read(1)  # the end, at which the checksum is compared
    return np.ndarray(shape, dtype, content, order="F" if header[2] == "True" else "C")
