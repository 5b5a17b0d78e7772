"""A folder in which some files are ours: made, cleared and locked."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from action_balance.errors import UserError
from action_balance.runs.locks import FileLock
from action_balance.runs.owned import FolderBusy, OwnedFolder


class Folder(OwnedFolder):
    """It owns a file, a folder, a file in a folder, and something that is not there."""

    def contents(self) -> Iterable[str]:
        outside = ("..", ".", "", "/", "../outside", "figures/..", "folder/../..", "a/../../outside", "\ud800", "a\0b")
        return "absent", "folder", "figures/ours.png", *outside, "marker.json"


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


def test_nothing_is_cleared_or_written_through_a_link_to_a_folder(tmp_path: Path) -> None:
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "ours.png").write_text("mine")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "figures").symlink_to(tmp_path / "precious")
    Folder(tmp_path / "a").clear()
    with pytest.raises(UserError, match="points outside"):
        Folder(tmp_path / "a").write("figures/ours.png", b"ours")
    assert (tmp_path / "precious" / "ours.png").read_text() == "mine"


def test_a_folder_that_is_itself_behind_a_link_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "a").symlink_to(tmp_path / "disk")
    folder = Folder(tmp_path / "a")
    folder.write("figures/ours.png", b"x")
    assert (tmp_path / "disk" / "figures" / "ours.png").exists()
    folder.clear()
    assert list((tmp_path / "disk").iterdir()) == []


def test_who_gets_the_lock_deletes_what_killed_processes_left_of_its_files(tmp_path: Path) -> None:
    for name in (".marker.json.0123abcd.part", ".page.html.0123abcd.part"):
        (tmp_path / name).touch()
    with Folder(tmp_path) as folder:
        folder.acquire()
    assert [path.name for path in tmp_path.iterdir()] == [".page.html.0123abcd.part"]


def test_another_process_is_waited_for_and_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [False, False, True, False]
    monkeypatch.setattr(FileLock, "acquire", lambda _: answers.pop(0))
    monkeypatch.setattr("time.sleep", lambda _: None)
    Folder(tmp_path).acquire(patience=600)
    with pytest.raises(FolderBusy, match="another process is writing to"):
        Folder(tmp_path).acquire()
    assert answers == []


def test_folders_that_are_made_are_returned_the_deepest_first(tmp_path: Path) -> None:
    assert Folder(tmp_path / "a" / "b").make() == [tmp_path / "a" / "b", tmp_path / "a"]
    assert Folder(tmp_path / "a" / "b").make() == []


def test_what_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match="is a file, not a folder"):
            Folder(path).make()
    with pytest.raises(UserError, match="cannot write to /proc/absent"):
        Folder(Path("/proc/absent")).make()
