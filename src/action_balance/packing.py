"""Arrays as short text, for pages and for lines of a run, and JSON that is safe inside a script element."""

import base64
import json
import zlib
from typing import Any

import numpy as np

from action_balance.files import Data

#: Most numbers that are unpacked.
MAX_NUMBERS = 10_000_000


def packed(array: np.ndarray) -> Data:
    """An array as base64 of zlib of its little-endian numbers in C order, with the name of their type.

    Integers take as few bits as hold them all and must not be negative; other numbers become 32-bit floats.
    """
    if np.issubdtype(array.dtype, np.integer) or array.dtype == bool:
        if array.size and int(array.min()) < 0:
            raise ValueError("only non-negative numbers can be packed")
        largest = int(array.max()) if array.size else 0
        bits = next(bits for bits in (8, 16, 32) if largest < 2**bits)
        name, dtype = f"Uint{bits}", f"<u{bits // 8}"
    else:
        name, dtype = "Float32", "<f4"
    content = zlib.compress(np.ascontiguousarray(array.astype(dtype)).tobytes(), 9)
    return {"type": name, "data": base64.b64encode(content).decode("ascii")}


def unpacked(data: Data, most: int = MAX_NUMBERS) -> np.ndarray:
    """The numbers that `packed` has packed, along one axis."""
    dtype = np.dtype({"Uint8": "<u1", "Uint16": "<u2", "Uint32": "<u4", "Float32": "<f4"}[data["type"]])
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(base64.b64decode(data["data"]), most * dtype.itemsize + 1)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    if not unpacker.eof or len(content) > most * dtype.itemsize:
        raise ValueError(f"the numbers are cut off, or more than {most:,}")
    return np.frombuffer(content, dtype)


def script_json(data: Any) -> str:
    """JSON for a script element: nothing in it can close the element or open a comment."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
