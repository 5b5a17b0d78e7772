"""Files are written whole or not at all, and data is read only from inside a folder."""

from pathlib import Path

import pytest

from action_balance.errors import UserError
from action_balance.files import found_inside, load_json, own_file, reason, write_atomically


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"old")
    (tmp_path / ".a.part").mkdir()  # the temporary name cannot be written
    with pytest.raises(UserError, match="cannot write"):
        write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    (tmp_path / ".a.part").symlink_to(full)
    with pytest.raises(UserError, match="No space left"):
        write_atomically(tmp_path / "a", b"x")
    assert list(tmp_path.iterdir()) == []


def test_a_function_may_write_the_content(tmp_path: Path) -> None:
    write_atomically(tmp_path / "deep" / "a", lambda file: file.write(b"abc"))
    assert (tmp_path / "deep" / "a").read_bytes() == b"abc"


def test_links_out_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "run" / "link").symlink_to(tmp_path / "secret")
    (tmp_path / "run" / "circle").symlink_to(tmp_path / "run" / "circle")
    (tmp_path / "run" / "file").write_text("")
    assert found_inside(tmp_path / "run", tmp_path / "run" / "link") is None
    assert found_inside(tmp_path / "run", tmp_path / "run" / "circle") is None
    assert found_inside(tmp_path / "run", tmp_path / "run" / "file") == (tmp_path / "run" / "file").resolve()
    with pytest.raises(UserError, match="leads out of its folder"):
        own_file(tmp_path / "run", "link")
    assert own_file(tmp_path / "run", "absent") == tmp_path / "run" / "absent"


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    assert load_json(tmp_path / "a") is None


def test_a_reason_is_one_line() -> None:
    assert reason(OSError(28, "No space left on device")) == "No space left on device"
    assert reason(ValueError("first\nsecond")) == "first"
    assert reason(ValueError()) == "ValueError"
