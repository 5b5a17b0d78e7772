"""The numbers of a run's metrics, read quickly and in groups: the same as line by line."""

import contextlib
import gzip
import os
import tempfile
from math import inf, nan
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from action_balance.errors import UserError
from action_balance.runs import Place, read_metrics, read_new, read_numbers
from action_balance.runs import rows as module

NAMES = ("update", "steps", "loss", "unknown")

LINES = (
    b'{"update": 1, "seed": 0, "steps": 10, "loss": 0.25, "shares": [0.5, null]}\n',
    b'{"update": 2, "seed": 0, "steps": 20, "loss": null, "shares": [0.5, 0.5]}\n',
    b'{"update": 3, "seed": 0, "steps": 30, "loss": "-inf", "shares": [1, 0]}\n',
)
NUMBERS = [[1, 10, 0.25, nan], [2, 20, nan, nan], [3, 30, -inf, nan]]


def numbers(path: Path, *lines: bytes, together: int = 1) -> tuple[list[list[float]], Place]:
    (path / "metrics.jsonl").write_bytes(b"".join(lines))
    table, place = read_numbers(path / "metrics.jsonl", Place(), NAMES, together)
    assert place == read_new(path / "metrics.jsonl", Place(), together)[1]
    return table.tolist(), place


@pytest.mark.parametrize("piece", [1, 80, 10**6])
def test_numbers_are_those_of_the_rows_however_many_are_parsed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(module, "PIECE", piece)
    found, place = numbers(tmp_path, *LINES)
    np.testing.assert_array_equal(found, NUMBERS)
    assert place.offset == sum(map(len, LINES))


@pytest.mark.parametrize(
    "damage",
    [
        (b'{"update": 9, "seed"\n',),
        (b'{"update": 9, "steps": 1\n', b'"loss": 2}\n'),  # halves that would be one row if they were joined
        (b'{"update": 9, "steps": 1}, {"update": 9, "steps": 1}\n', b'{"update": 9, "steps": 1\n', b'"a": 2}\n'),
        (b"[]\n", b"7\n", b"\n"),
        (b'{"update": 9}\n',),
        (b"\xff\n",),
        (b'{"update": -1, "steps": 1}\n', b'{"update": 1e999, "steps": 1}\n', b'{"update": true, "steps": 1}\n'),
        (b'{"update": 9007199254740992, "steps": 1}\n', b'{"update": 9, "steps": 1, "seed": "0"}\n'),
        (b'{"update": 9, "steps": 1' + b"1" * 10_000 + b"}\n",),
        (b'{"update": 9, "steps": 1, "a": ' + b"[" * 100_000 + b"\n",),
    ],
)
def test_damaged_lines_are_left_out(tmp_path: Path, damage: tuple[bytes, ...]) -> None:
    found, _ = numbers(tmp_path, LINES[0], *damage, *LINES[1:])
    np.testing.assert_array_equal(found, NUMBERS)


def test_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    odd = (
        b'{"update": %d, "steps": 1, "loss": %s}\n' % (1 + i, loss) for i, loss in enumerate((b"[1]", b'"x"', b"{}"))
    )
    missing = b'{"update": 4, "steps": 1}\n'
    found, _ = numbers(tmp_path, *odd, missing, LINES[0])
    np.testing.assert_array_equal(found, [*([update, 1, nan, nan] for update in (1, 2, 3, 4)), NUMBERS[0]])


@pytest.mark.parametrize(("together", "rows"), [(1, 3), (2, 2), (3, 3), (4, 0)])
def test_only_whole_groups_of_whole_lines_are_read(tmp_path: Path, together: int, rows: int) -> None:
    found, place = numbers(tmp_path, *LINES, LINES[0][:-1], together=together)
    np.testing.assert_array_equal(np.reshape(found, (-1, 4)), np.reshape(NUMBERS[:rows], (-1, 4)))
    assert place.offset == sum(map(len, LINES[:rows]))


def test_compressed_rows_are_read_from_a_place_on(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl.gz").write_bytes(gzip.compress(b"".join(LINES)))
    table, place = read_numbers(tmp_path / "metrics.jsonl", Place(), NAMES)
    np.testing.assert_array_equal(table, NUMBERS)
    assert place.offset == sum(map(len, LINES))
    assert read_new(tmp_path / "metrics.jsonl", place) == ([], place)
    rows, _ = read_new(tmp_path / "metrics.jsonl", Place(place.file, len(LINES[0])))
    assert [row["update"] for row in rows] == [2, 3]


def test_numbers_beyond_floats_are_infinite(tmp_path: Path) -> None:
    large = b"1" * 400
    lines = [b'{"update": 1, "steps": 1, "loss": %s, "all": [%s]}\n' % (one, one) for one in (large, b"-" + large)]
    found, _ = numbers(tmp_path, *lines, b'{"update": 2, "steps": 1, "loss": 1e999}\n')
    assert [row[2] for row in found] == [inf, -inf, inf]
    assert [row["all"] for row in read_metrics(tmp_path)[:2]] == [[inf], [-inf]]


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_is_too_long_is_refused_also_if_a_small_file_expands_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setattr(module, "PIECE", 100)
    monkeypatch.setattr(module, "MAX_LINE", 1000)
    file = tmp_path / ("metrics.jsonl.gz" if packed else "metrics.jsonl")
    file.write_bytes(gzip.compress(bytes(5000)) if packed else bytes(5000))
    with pytest.raises(UserError, match="a line of more than 1,000 bytes"):
        read_numbers(tmp_path / "metrics.jsonl", Place(), NAMES)


def test_a_compressed_file_that_is_cut_off_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl.gz").write_bytes(gzip.compress(b"".join(LINES))[:-12])
    with pytest.raises(UserError, match="is damaged"):
        read_metrics(tmp_path)


def test_a_pipe_in_place_of_metrics_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "metrics.jsonl")
    with pytest.raises(UserError, match=r"is a pipe.*, but a file of rows"):
        read_metrics(tmp_path)


@settings(derandomize=True, max_examples=100, deadline=None)
@given(st.data())
def test_damaged_metrics_are_read_alike_by_all_readers_or_refused(data: st.DataObject) -> None:
    whole = b"".join(LINES)
    at = data.draw(st.integers(0, len(whole)))
    content = whole[:at] + data.draw(st.binary(max_size=5)) + whole[data.draw(st.integers(at, len(whole))) :]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "metrics.jsonl"
        file.write_bytes(content)
        table, place = read_numbers(file, Place(), NAMES)
        rows, same = read_new(file, Place())
        assert place == same
        assert table[:, :2].tolist() == [[row["update"], row["steps"]] for row in rows]
        with contextlib.suppress(UserError):
            assert len(read_metrics(Path(folder))) == len(rows)
