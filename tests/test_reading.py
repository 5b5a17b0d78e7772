import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from action_balance.reading import (
    Damaged,
    Missing,
    Unreadable,
    entries,
    exists,
    is_file,
    is_folder,
    parse_json,
    read_bytes,
    read_json,
    read_text,
)

WANTED = "the config.json of a run"


def test_a_regular_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf{}")
    assert read_bytes(tmp_path / "a", WANTED) == b"\xef\xbb\xbf{}"
    assert read_text(tmp_path / "a", WANTED) == "{}"
    assert read_json(tmp_path / "a", WANTED) == {}


def test_what_is_not_a_regular_file_is_refused_with_what_was_expected(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path, kind in {Path("/dev/zero"): "a device", tmp_path / "pipe": "a pipe", tmp_path: "a folder"}.items():
        with pytest.raises(Unreadable, match=rf"is .*{kind}.*{WANTED} is expected"):
            read_bytes(path, WANTED)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "large", "wb") as file:
        file.truncate(3_000_000_000)
    with pytest.raises(Unreadable, match=r"3\.0 GB.* is expected, of at most 16 MB"):
        read_json(tmp_path / "large", WANTED)
    (tmp_path / "exact").write_bytes(b"abc")
    assert read_bytes(tmp_path / "exact", WANTED, most=3) == b"abc"
    with pytest.raises(Unreadable, match="expected"):
        read_bytes(tmp_path / "exact", WANTED, most=2)


def test_names_that_no_file_can_have_are_refused(tmp_path: Path) -> None:
    for name in ("a" * 300, "nul\0"):
        for look in (exists, is_file, is_folder, entries):
            with pytest.raises(Unreadable, match="cannot read"):
                look(tmp_path / name)
        with pytest.raises(Unreadable, match="cannot read"):
            read_bytes(tmp_path / name, WANTED)


def test_no_permission_is_not_taken_for_a_missing_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> Any:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        for name in ("stat", "open", "listdir"):
            patch.setattr(os, name, refuse)
        for look in (exists, is_file, is_folder, entries):
            with pytest.raises(Unreadable, match="Permission denied"):
                look(tmp_path)
        with pytest.raises(Unreadable, match="Permission denied") as refused:
            read_bytes(tmp_path, WANTED)
    assert not isinstance(refused.value, Missing)


def test_paths_that_lead_nowhere_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "none", tmp_path / "file" / "none"):
        assert not exists(path)
        assert not is_folder(path)
        assert entries(path) == []
    with pytest.raises(Missing):
        read_bytes(tmp_path / "none", WANTED)
    assert is_file(tmp_path / "file")
    assert entries(tmp_path) == [tmp_path / "file"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not valid JSON"),
        (b"\xff", "UTF-8"),
        (b"[1]", "not a JSON object"),
        (b'{"a": NaN}', "finite"),
        (b'{"a": 1e999}', "finite"),
        (b'{"a": ' + b"1" * 10_000 + b"}", "digits"),
        (b"[" * 200_000, "nested"),
    ],
)
def test_damaged_json_is_refused_with_the_reason(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(Damaged, match=why):
        read_json(tmp_path / "a", WANTED)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.data())
def test_damaged_json_gives_plain_data_or_a_reason(data: st.DataObject) -> None:
    whole = json.dumps({"config": {"env": {"name": "deep-sea"}, "steps": [1, 2.5, None, True, "é"]}}).encode()
    at = data.draw(st.integers(0, len(whole)))
    damaged = whole[:at] + data.draw(st.binary(max_size=4)) + whole[data.draw(st.integers(at, len(whole))) :]
    try:
        found = parse_json(damaged)
    except ValueError:
        pass
    else:
        assert parse_json(json.dumps(found, allow_nan=False)) == found
