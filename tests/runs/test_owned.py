"""A folder in which some files are ours: made, cleared and locked."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from action_balance.errors import UserError
from action_balance.runs.owned import OwnedFolder


class Folder(OwnedFolder):
    """It owns a file, a folder, a file in a folder, and something that is not there."""

    def contents(self) -> Iterable[str]:
        return "absent", "folder", "figures/ours.png", "../outside", "marker.json"


def test_only_what_is_owned_is_cleared_and_folders_that_are_empty_then(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "a")
    folder.make()
    for name in ("marker.json", "folder/deep/file", "figures/ours.png", "notes.txt"):
        folder.write(name, b"x")
    (tmp_path / "outside").write_text("mine")
    folder.clear()
    assert [path.name for path in folder.path.iterdir()] == ["notes.txt"]
    assert (tmp_path / "outside").exists()
    folder.write("figures/ours.png", b"x")
    folder.write("figures/mine.png", b"x")
    folder.clear()
    assert [path.name for path in (folder.path / "figures").iterdir()] == ["mine.png"]


def test_a_link_to_a_folder_is_removed_and_the_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").write_text("mine")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "folder").symlink_to(tmp_path / "precious")
    Folder(tmp_path / "a").clear()
    assert list((tmp_path / "a").iterdir()) == []
    assert (tmp_path / "precious" / "file").exists()


def test_folders_that_are_made_are_returned_the_deepest_first(tmp_path: Path) -> None:
    assert Folder(tmp_path / "a" / "b").make() == [tmp_path / "a" / "b", tmp_path / "a"]
    assert Folder(tmp_path / "a" / "b").make() == []


def test_what_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match="a file is in the way"):
            Folder(path).make()
    with pytest.raises(UserError, match="cannot write to /proc/absent"):
        Folder(Path("/proc/absent")).make()


def test_a_lock_can_be_taken_again_after_it_was_released(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.acquire()
    folder.acquire()
    folder.release()
    folder.release()
    folder.acquire()
    folder.release()
