"""Arrays come back from their file, which NumPy reads; damage is noticed, and nothing is executed."""

import contextlib
import io
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from action_balance.files import write_atomically
from action_balance.reading import Missing
from action_balance.runs import array_file
from action_balance.runs.array_file import DamagedArrays, as_entry, read_arrays, read_described, write_arrays

ARRAYS: dict[str, Any] = {
    "['a/b'][0]": np.arange(6, dtype=np.int16).reshape(2, 3),
    "nothing": np.zeros((0, 2), np.float32),
    "number": np.array(2.5),
    "": np.array([True]),
}


def _write(path: Path, arrays: dict[str, Any], compress: bool = False) -> Path:
    write_atomically(path, lambda file: write_arrays(file, arrays, compress))
    return path


@pytest.mark.parametrize("compress", [False, True])
def test_arrays_come_back_by_name_also_with_numpy_alone(tmp_path: Path, compress: bool) -> None:
    file = _write(tmp_path / "a.npz", ARRAYS, compress)
    with np.load(file) as loaded:
        for found in (read_arrays(file), loaded):
            assert list(found) == list(ARRAYS)
            for name, array in ARRAYS.items():
                np.testing.assert_array_equal(found[name], array, strict=True)
    assert _write(tmp_path / "b.npz", ARRAYS, compress).read_bytes() == file.read_bytes()


def test_numbers_of_a_type_that_numpy_does_not_know_are_kept_bit_for_bit(tmp_path: Path) -> None:
    half = np.asarray(jnp.array([1.5, -2.0], jnp.bfloat16))
    found = read_arrays(_write(tmp_path / "a.npz", {"x": half}))["x"]
    assert found.dtype == np.uint16
    assert found.view(half.dtype).tolist() == [1.5, -2.0]


def test_a_file_can_describe_its_arrays(tmp_path: Path) -> None:
    file = _write(tmp_path / "a.npz", {"x": np.ones(2), "about": as_entry({"a": [1]})})
    about, arrays = read_described(file, "about")
    assert (about, list(arrays)) == ({"a": [1]}, ["x"])
    for entry in ("x", "absent"):
        with pytest.raises(DamagedArrays, match=f"its {entry} is missing or damaged"):
            read_described(file, entry)


def test_damage_is_noticed(tmp_path: Path) -> None:
    content = _write(tmp_path / "a.npz", {"x": np.arange(100)}).read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    for damaged in (flipped, content[:-30], b"", b"PK"):
        (tmp_path / "a.npz").write_bytes(damaged)
        with pytest.raises(DamagedArrays):
            read_arrays(tmp_path / "a.npz")
    with pytest.raises(Missing):
        read_arrays(tmp_path / "absent")


class Trap:
    """An object that makes a folder when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return os.mkdir, (str(self._target),)


def test_objects_are_neither_written_nor_read(tmp_path: Path) -> None:
    thing = np.array([Trap(tmp_path / "sprung")], dtype=object)
    with pytest.raises(ValueError, match="Object arrays"):
        _write(tmp_path / "a.npz", {"x": thing})
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive, archive.open("x.npy", "w") as entry:
        np.lib.format.write_array(entry, thing, allow_pickle=True)
    with pytest.raises(DamagedArrays):
        read_arrays(tmp_path / "b.npz")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }\n",  # more than the entry holds
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }\n",  # less
        "{'descr': '<f9', 'fortran_order': False, 'shape': (2,), }\n",
        "[" * 5000,
        "__import__('os').system('true')",
    ],
)
def test_a_header_that_promises_something_else_is_damage(tmp_path: Path, header: str) -> None:
    entry = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(16)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", entry)
    with pytest.raises(DamagedArrays):
        read_arrays(tmp_path / "a.npz")


def test_a_small_file_that_expands_to_gigabytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_file, "MAX_BYTES", 100_000)
    file = _write(tmp_path / "a.npz", {"x": np.zeros(20_000)}, compress=True)
    assert file.stat().st_size < 1000
    with pytest.raises(DamagedArrays, match="100,000 bytes"):
        read_arrays(file)
    stored = _write(tmp_path / "b.npz", {"x": np.zeros(20_000)})  # as large as the file is, so there is no limit
    assert read_arrays(stored)["x"].sum() == 0


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.data())
def test_flipped_bits_give_the_arrays_or_damage_and_nothing_else(data: st.DataObject) -> None:
    buffer = io.BytesIO()
    write_arrays(buffer, ARRAYS, compress=data.draw(st.booleans()))
    content = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        with contextlib.suppress(DamagedArrays):
            assert sum(array.nbytes for array in read_arrays(Path(file.name)).values()) < 1000
