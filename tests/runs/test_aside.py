"""What is moved aside keeps its name and content, under a folder that is new and says why."""

import os
from pathlib import Path

import pytest

from action_balance.errors import UserError
from action_balance.runs.aside import move_aside, new_aside


def test_folders_are_numbered_and_never_used_again(tmp_path: Path) -> None:
    assert new_aside(tmp_path, "damaged") == tmp_path / "aside" / "0001-damaged"
    assert new_aside(tmp_path, "damaged") == tmp_path / "aside" / "0002-damaged"
    (tmp_path / "aside" / "0041-of-somebody").mkdir()
    (tmp_path / "aside" / "notes").mkdir()
    assert new_aside(tmp_path, "after-update-5").name == "0042-after-update-5"


def test_files_folders_and_links_are_moved_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "inside").write_text("2")
    (tmp_path / "link").symlink_to("folder")
    folder = new_aside(tmp_path, "why")
    for name in ("file", "folder", "link"):
        assert move_aside(tmp_path / name, folder) == folder / name
    assert (folder / "file").read_text() == "1"
    assert (folder / "folder" / "inside").read_text() == "2"
    assert os.readlink(folder / "link") == "folder"
    assert [path.name for path in tmp_path.iterdir()] == ["aside"]


def test_nothing_that_is_there_is_replaced(tmp_path: Path) -> None:
    folder = new_aside(tmp_path, "why")
    for path in (folder / "file", tmp_path / "file"):
        path.write_text(str(path.parent.name))
    with pytest.raises(UserError, match="it was not moved"):
        move_aside(tmp_path / "file", folder)
    assert (folder / "file").read_text() == "0001-why"
    assert (tmp_path / "file").exists()


def test_nothing_is_moved_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / "aside").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="points outside"):
        new_aside(tmp_path / "run", "why")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_in_the_way_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "aside").write_text("mine")
    with pytest.raises(UserError, match=r"cannot move files to .*aside: .*; nothing was changed"):
        new_aside(tmp_path, "why")
    assert (tmp_path / "aside").read_text() == "mine"
