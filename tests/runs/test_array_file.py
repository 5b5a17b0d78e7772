"""Arrays come back from their file, which NumPy reads; damage is noticed before anything is read."""

import zipfile
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from action_balance.files import write_atomically
from action_balance.runs.array_file import DamagedArrays, read_arrays, write_arrays

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


def test_numbers_of_a_type_that_numpy_does_not_know_are_kept_bit_for_bit(tmp_path: Path) -> None:
    half = np.asarray(jnp.array([1.5, -2.0], jnp.bfloat16))
    found = read_arrays(_write(tmp_path / "a.npz", {"x": half}))["x"]
    assert found.dtype == np.uint16
    assert found.view(half.dtype).tolist() == [1.5, -2.0]


def test_the_same_arrays_give_the_same_bytes(tmp_path: Path) -> None:
    one, other = (_write(tmp_path / name, ARRAYS).read_bytes() for name in ("1", "2"))
    assert one == other


def test_damage_is_noticed(tmp_path: Path) -> None:
    content = _write(tmp_path / "a.npz", {"x": np.arange(100)}).read_bytes()
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]
    for damaged in (flipped, content[:-30], b"", b"PK"):
        (tmp_path / "a.npz").write_bytes(damaged)
        with pytest.raises(DamagedArrays):
            read_arrays(tmp_path / "a.npz")
    with pytest.raises(FileNotFoundError):
        read_arrays(tmp_path / "absent")


def test_objects_are_neither_written_nor_read(tmp_path: Path) -> None:
    thing = np.array([print], dtype=object)
    with pytest.raises(ValueError, match="Object arrays"):
        _write(tmp_path / "a.npz", {"x": thing})
    with zipfile.ZipFile(tmp_path / "b.npz", "w") as archive, archive.open("x.npy", "w") as entry:
        np.lib.format.write_array(entry, np.array([1], dtype=object), allow_pickle=True)
    with pytest.raises(DamagedArrays):
        read_arrays(tmp_path / "b.npz")
