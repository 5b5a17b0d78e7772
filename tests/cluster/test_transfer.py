"""Files of a folder arrive as they are, in an order in which every moment is a folder that can be resumed."""

import os
from pathlib import Path

import pytest

from action_balance.cluster import transfer
from action_balance.cluster.transfer import Piece


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def read(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_a_file_travels_in_pieces(tmp_path: Path) -> None:
    write(tmp_path / "a", {"x/long": b"abcdefg", "empty": b""})
    found = list(transfer.pieces(tmp_path / "a", ["x/long", "empty", "gone"], size=3))
    assert found == [
        Piece("x/long", 0, b"abc"),
        Piece("x/long", 3, b"def"),
        Piece("x/long", 6, b"g"),
        Piece("empty", 0, b""),
    ]
    write(tmp_path / "b", {"x/long": b"older and longer"})
    transfer.write_pieces(tmp_path / "b", found)
    assert read(tmp_path / "b") == {"x/long": b"abcdefg", "empty": b""}


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", ""])
def test_a_piece_outside_the_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="is not below"):
        transfer.write_pieces(tmp_path / "here", [Piece(name, 0, b"!")])
    assert not (tmp_path / "x").exists()


def test_a_new_folder_appears_with_all_of_its_files_and_an_old_one_gets_them_one_by_one(tmp_path: Path) -> None:
    staging, folder = tmp_path / "staging", tmp_path / "folder"
    write(folder, {"checkpoints/1/arrays": b"1", "metrics": b"1\n"})
    files = {"metrics": b"1\n2\n", "checkpoints/2/arrays": b"2", "checkpoints/2/about": b"two"}
    write(staging, files)
    moves: list[tuple[str, str]] = []
    with pytest.MonkeyPatch.context() as patch:
        replace = os.replace

        def noted(source: Path, target: Path) -> None:
            moves.append((source.relative_to(staging).as_posix(), target.relative_to(folder).as_posix()))
            replace(source, target)

        patch.setattr(os, "replace", noted)
        transfer.merge(staging, folder, list(files))
    assert moves == [("metrics", "metrics"), ("checkpoints/2", "checkpoints/2")]
    assert read(folder) == {"checkpoints/1/arrays": b"1", **files}


def test_files_that_a_job_no_longer_has_are_deleted_and_those_of_others_stay(tmp_path: Path) -> None:
    write(tmp_path, {"checkpoints/1/arrays": b"1", "checkpoints/2/arrays": b"2", "notes.txt": b"mine"})
    transfer.remove_others(tmp_path, ["checkpoints/1/arrays", "checkpoints/2/arrays"], ["checkpoints/2/arrays"])
    assert read(tmp_path) == {"checkpoints/2/arrays": b"2", "notes.txt": b"mine"}
    assert not (tmp_path / "checkpoints" / "1").exists()


def test_stamps_tell_which_files_have_changed(tmp_path: Path) -> None:
    write(tmp_path, {"a": b"1", "b": b"1"})
    before = transfer.stamps(tmp_path, ["a", "b", "gone"])
    write(tmp_path, {"b": b"22"})
    after = transfer.stamps(tmp_path, ["a", "b", "gone"])
    assert before["a"] == after["a"]
    assert (before["b"][0], after["b"][0]) == (1, 2)
    assert "gone" not in after
