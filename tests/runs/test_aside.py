"""What is moved aside keeps its name and content, under a folder that is new and says why; no intact row is lost."""

import json
import os
from pathlib import Path

import pytest

from action_balance.errors import UserError
from action_balance.runs import aside
from action_balance.runs.aside import move_aside, new_aside, plan_cut


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
        move_aside(tmp_path / name, folder)
    assert (folder / "file").read_text() == "1"
    assert (folder / "folder" / "inside").read_text() == "2"
    assert os.readlink(folder / "link") == "folder"
    assert [path.name for path in tmp_path.iterdir()] == ["aside"]


def test_nothing_is_moved_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / "aside").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="points outside"):
        new_aside(tmp_path / "run", "why")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def line(update: int) -> bytes:
    return json.dumps({"update": update, "steps": 10 * update}).encode() + b"\n"


def written(path: Path, *lines: bytes) -> Path:
    path.write_bytes(b"".join(lines))
    return path


def test_rows_after_a_checkpoint_and_half_of_a_line_are_moved(tmp_path: Path) -> None:
    file = written(tmp_path / "rows", line(1), line(2), line(3), line(4)[:-3])
    cut = plan_cut(file, 2)
    assert (cut.later, cut.damaged, cut.last) == (2, 0, {"update": 2, "steps": 20})
    assert file.read_bytes().startswith(line(1) + line(2) + line(3))  # a plan changes nothing
    (tmp_path / "aside").mkdir()
    cut.apply(tmp_path / "aside")
    assert file.read_bytes() == line(1) + line(2)
    assert (tmp_path / "aside" / "rows").read_bytes() == line(3) + line(4)[:-3]


@pytest.mark.parametrize(
    "damage", [b"\n", b"{\n", b"\0\0\n", b"\xff\n", b"[1]\n", b'{"update": 1}\n', b"}{" * 40 + b"\n"]
)
def test_intact_rows_after_a_damaged_line_stay(tmp_path: Path, damage: bytes) -> None:
    file = written(tmp_path / "rows", line(1), damage, line(2), damage, line(3), line(4))
    cut = plan_cut(file, 3)
    assert (cut.later, cut.damaged, cut.last) == (1, 2, {"update": 3, "steps": 30})
    (tmp_path / "aside").mkdir()
    cut.apply(tmp_path / "aside")
    assert file.read_bytes() == line(1) + line(2) + line(3)
    assert (tmp_path / "aside" / "rows").read_bytes() == damage + damage + line(4)


def test_a_line_longer_than_any_row_is_damaged_and_not_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aside, "MAX_LINE", 64)
    monkeypatch.setattr(aside, "PIECE", 10)
    file = written(tmp_path / "rows", line(1), b"x" * 200 + b"\n", line(2))
    cut = plan_cut(file, 2)
    assert (cut.later, cut.damaged) == (0, 4)
    (tmp_path / "aside").mkdir()
    cut.apply(tmp_path / "aside")
    assert file.read_bytes() == line(1) + line(2)
    assert (tmp_path / "aside" / "rows").read_bytes() == b"x" * 200 + b"\n"


def test_what_is_moved_has_its_name_on_the_disk_before_the_file_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = written(tmp_path / "rows", line(1), line(2))
    (tmp_path / "aside").mkdir()
    seen = []
    monkeypatch.setattr(aside, "sync_folder", lambda folder: seen.append((folder.name, file.read_bytes())))
    plan_cut(file, 1).apply(tmp_path / "aside")
    assert seen == [("aside", line(1) + line(2))]
    assert file.read_bytes() == line(1)


def test_a_file_of_which_nothing_stays_is_moved_itself(tmp_path: Path) -> None:
    file = written(tmp_path / "rows", line(1), line(2))
    number = file.stat().st_ino
    (tmp_path / "aside").mkdir()
    plan_cut(file, 0).apply(tmp_path / "aside")
    assert not file.exists()
    assert (tmp_path / "aside" / "rows").stat().st_ino == number


def test_a_file_of_which_all_stays_is_not_touched(tmp_path: Path) -> None:
    file = written(tmp_path / "rows", line(1), line(2))
    before = file.stat().st_ino
    plan_cut(file, 2).apply(tmp_path / "absent")
    plan_cut(tmp_path / "nothing", 2).apply(tmp_path / "absent")
    assert (file.stat().st_ino, file.read_bytes()) == (before, line(1) + line(2))
    assert [path.name for path in tmp_path.iterdir()] == ["rows"]


def test_when_the_rows_cannot_be_kept_the_file_is_as_it_was(tmp_path: Path) -> None:
    file = written(tmp_path / "rows", line(1), line(2))
    with pytest.raises(UserError, match=r"cannot write .*; .*rows is as it was"):
        plan_cut(file, 1).apply(tmp_path / "absent")
    assert file.read_bytes() == line(1) + line(2)
