"""Files are written whole or not at all, and data is read only from inside a folder."""

import hashlib
import os
from pathlib import Path
from typing import BinaryIO

import pytest

from action_balance.errors import UserError
from action_balance.files import (
    NotWritable,
    check_inside,
    digest,
    found_inside,
    load_json,
    open_to_append,
    own_file,
    reason,
    remove_partial,
    write_atomically,
)


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"old")

    def fail(file: BinaryIO) -> None:
        file.write(b"ne")
        raise OSError(28, "No space left on device")

    with pytest.raises(UserError, match=r"cannot write .*a: No space left on device$") as caught:
        write_atomically(tmp_path / "a", fail)
    assert not isinstance(caught.value, NotWritable)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}


def test_an_interrupted_write_leaves_no_other_file(tmp_path: Path) -> None:
    def interrupt(_: BinaryIO) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "a", interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [1, 13, 30])
def test_a_place_that_is_read_only_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("os.replace", refuse)
    with pytest.raises(NotWritable, match=os.strerror(number)):
        write_atomically(tmp_path / "a", b"x")
    assert list(tmp_path.iterdir()) == []


def test_two_writers_of_one_file_do_not_collide(tmp_path: Path) -> None:
    def write_another(file: BinaryIO) -> None:
        write_atomically(tmp_path / "a", b"inner")
        assert (tmp_path / "a").read_bytes() == b"inner"
        file.write(b"outer")

    write_atomically(tmp_path / "a", write_another)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"outer"}


def test_nothing_is_written_through_a_link_under_the_temporary_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "precious").write_bytes(b"mine")
    monkeypatch.setattr("secrets.token_hex", lambda _: "00000000")
    (tmp_path / ".a.00000000.part").symlink_to(tmp_path / "precious")
    with pytest.raises(UserError, match="cannot write"):
        write_atomically(tmp_path / "a", b"theirs")
    assert (tmp_path / "precious").read_bytes() == b"mine"
    assert (tmp_path / ".a.00000000.part").is_symlink()


def test_a_link_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / "a").symlink_to(tmp_path / "precious")
    write_atomically(tmp_path / "a", b"ours")
    assert (tmp_path / "precious").read_bytes() == b"mine"
    assert not (tmp_path / "a").is_symlink()


def test_a_pipe_is_not_replaced_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    with pytest.raises(UserError, match="not a regular file"):
        write_atomically(tmp_path / "a", b"x")
    with pytest.raises(OSError, match="not a regular file"):
        open_to_append(tmp_path / "a")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_is_appended_to_but_no_link_and_no_folder(tmp_path: Path) -> None:
    for content in (b"1", b"2"):
        with open_to_append(tmp_path / "a") as file:
            file.write(content)
    assert (tmp_path / "a").read_bytes() == b"12"
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "dangling").symlink_to(tmp_path / "absent")
    for name in ("link", "dangling", ""):
        with pytest.raises(OSError, match="not a regular file"):
            open_to_append(tmp_path / name)
    assert not (tmp_path / "absent").exists()


def test_names_of_any_length_are_written(tmp_path: Path) -> None:
    for name in ("a" * 255, "ä" * 127, "[a]*?"):
        write_atomically(tmp_path / name, b"x")
        assert [path.name for path in tmp_path.iterdir()] == [name]
        (tmp_path / name).unlink()
    with pytest.raises(UserError, match="File name too long"):
        write_atomically(tmp_path / ("a" * 256), b"x")
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_deleted_and_nothing_that_looks_like_it(tmp_path: Path) -> None:
    left = [".a[1].json.0123abcd.part", ".a[1].json.part", ".a[1].json.0123abc.part", ".a1.json.0123abcd.part"]
    for name in left:
        (tmp_path / name).touch()
    remove_partial(tmp_path / "a[1].json")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(left[1:])


def test_a_folder_behind_a_link_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "run" / "figures").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / "out").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "run" / "circle").symlink_to(tmp_path / "run" / "circle")
    (tmp_path / "way").symlink_to(tmp_path / "run")
    for name in ("out", "out/deeper", "circle", ".."):
        with pytest.raises(UserError, match="points outside"):
            check_inside(tmp_path / "run", tmp_path / "run" / name)
    for name in ("figures", "absent", "absent/deeper", ""):
        check_inside(tmp_path / "run", tmp_path / "run" / name)
        check_inside(tmp_path / "way", tmp_path / "way" / name)


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
    with pytest.raises(UserError, match="points outside its folder"):
        own_file(tmp_path / "run", "link")
    assert own_file(tmp_path / "run", "absent") == tmp_path / "run" / "absent"


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").write_bytes(content)
    assert load_json(tmp_path / "a") is None


def test_a_digest_is_that_of_a_file_of_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "large").open("wb") as file:
        file.write(b"abc")
        file.truncate(10**12)  # without taking space
    monkeypatch.setattr("hashlib.file_digest", lambda file, kind: hashlib.new(kind, file.read(3)))
    assert digest(tmp_path / "large") == hashlib.sha256(b"abc").hexdigest()


def test_a_reason_is_one_line() -> None:
    assert reason(OSError(28, "No space left on device")) == "No space left on device"
    assert reason(ValueError("first\nsecond")) == "first"
    assert reason(ValueError()) == "ValueError"
