"""A result folder is whole or not there, continued or refused, never silently overwritten."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pytest

from action_balance.errors import UserError
from action_balance.runs.locks import FileLock
from action_balance.runs.results import SUMMARY, ResultFolder
from action_balance.studies.grid.settings import RunSettings


def _open(path: Path, settings: RunSettings | None = None, overwrite: bool = False) -> ResultFolder:
    return ResultFolder.open(path, "test", asdict(settings or RunSettings()), overwrite, {})


def test_a_new_folder_has_a_summary_at_once(tmp_path: Path) -> None:
    _open(tmp_path / "a" / "b")
    summary = json.loads((tmp_path / "a" / "b" / SUMMARY).read_text())
    assert summary["settings"]["runs"] == 100
    assert summary["ours"] == {}
    assert "jax" in summary["versions"]


def test_other_settings_are_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    _open(tmp_path)
    before = (tmp_path / SUMMARY).read_bytes()
    with pytest.raises(UserError, match=r"different settings.*--overwrite"):
        _open(tmp_path, RunSettings(runs=7))
    assert (tmp_path / SUMMARY).read_bytes() == before


def test_overwrite_deletes_the_result_and_nothing_else(tmp_path: Path) -> None:
    folder = _open(tmp_path)
    for name in ("goals.csv", "figures/heatmaps.png", "figures/heatmaps.svg"):
        folder.write(name, b"old")
    for mine in ("notes.txt", "figures/thesis.png"):
        (tmp_path / mine).write_text("mine")
    folder.release()
    _open(tmp_path, RunSettings(runs=7), overwrite=True).release()
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["figures/thesis.png", "notes.txt", SUMMARY]


def test_a_result_lists_its_files_before_they_exist_and_nothing_else_of_what_is_new(tmp_path: Path) -> None:
    folder = _open(tmp_path)
    folder.summary["ours"]["coverage"] = {"cells": 1}

    def fail(_: BinaryIO) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(UserError, match="cannot write"):
        folder.write("a.csv", fail)
    found = json.loads((tmp_path / SUMMARY).read_text())
    assert (found["files"], found["ours"]) == (["a.csv"], {})
    folder.write("b.csv", b"")
    folder.save()
    folder.release()
    again = _open(tmp_path)
    assert again.summary["files"] == ["a.csv", "b.csv"]
    assert again.summary["ours"] == {"coverage": {"cells": 1}}


def test_a_file_that_is_not_of_the_result_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("mine")
    folder = _open(tmp_path)
    with pytest.raises(UserError, match=r"mine.csv does not belong to this result: move it away"):
        folder.write("mine.csv", b"ours")
    assert (tmp_path / "mine.csv").read_text() == "mine"


@pytest.mark.parametrize(
    "files",
    [
        ["../mine", "..", ".", "", "/", "a/../../mine", "folder", "folder/..", "link/mine", "\ud800", "\0", 5, None],
        [["mine"]],
        {"mine": 1},
        "mine",
        7,
        None,
    ],
)
def test_listed_names_that_lead_out_of_the_folder_are_not_deleted(tmp_path: Path, files: Any) -> None:
    _open(tmp_path / "result").release()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "result" / "folder").mkdir()
    (tmp_path / "result" / "link").symlink_to(tmp_path / "elsewhere")
    mine = [tmp_path / "mine", tmp_path / "elsewhere" / "mine", tmp_path / "result" / "folder" / "mine"]
    for path in mine:
        path.write_text("precious")
    summary = json.loads((tmp_path / "result" / SUMMARY).read_text())
    (tmp_path / "result" / SUMMARY).write_text(json.dumps({**summary, "files": files}))
    _open(tmp_path / "result", overwrite=True)
    assert [path.read_text() for path in mine] == ["precious"] * 3


def test_only_one_process_writes_a_result_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with _open(tmp_path) as folder:
        assert (tmp_path / ".lock").exists()
        folder.write("a.csv", b"")
    with pytest.raises(UserError, match="different settings"):
        _open(tmp_path, RunSettings(runs=7))
    with pytest.raises(UserError, match="already contains a result of test"):
        ResultFolder.renew(tmp_path, "another")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", SUMMARY]
    (tmp_path / ".a.csv.0123abcd.part").touch()  # of a process that was killed
    monkeypatch.setattr(FileLock, "acquire", lambda _: False)
    monkeypatch.setattr("action_balance.runs.results.PATIENCE", 0.0)
    for open_it in (_open, lambda path: ResultFolder.renew(path, "test")):
        with pytest.raises(UserError, match="another process is writing to"):
            open_it(tmp_path)
    assert (tmp_path / ".a.csv.0123abcd.part").exists()
    monkeypatch.undo()
    ResultFolder.renew(tmp_path, "test").release()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", SUMMARY]


def test_a_report_replaces_the_one_before_and_knows_it(tmp_path: Path) -> None:
    first = ResultFolder.renew(tmp_path, "report")
    first.write("runs.csv", b"1")
    first.summary["ours"] = {"runs": 1}
    first.save()
    first.release()
    second = ResultFolder.renew(tmp_path, "report")
    assert (second.before["ours"], second.summary["ours"]) == ({"runs": 1}, {})
    second.write("runs.csv", b"2")
    second.save()
    second.release()
    assert (tmp_path / "runs.csv").read_bytes() == b"2"
    assert ResultFolder.read(tmp_path).summary["files"] == ["runs.csv"]
    with pytest.raises(UserError, match="already contains a result of report"):
        ResultFolder.renew(tmp_path, "another", overwrite=True)
    (tmp_path / SUMMARY).write_text("{")
    with pytest.raises(UserError, match="damaged"):
        ResultFolder.renew(tmp_path, "report")
    ResultFolder.renew(tmp_path, "report", overwrite=True).release()
    assert [path.name for path in tmp_path.iterdir()] == ["runs.csv"]  # nothing says any more whose it is
    with pytest.raises(UserError, match="contains no result"):
        ResultFolder.read(tmp_path)


def test_files_in_a_folder_without_a_summary_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "goals.csv").write_text("mine")
    for overwrite in (False, True):
        with (
            _open(tmp_path, overwrite=overwrite) as folder,
            pytest.raises(UserError, match="does not belong to this result"),
        ):
            folder.write("goals.csv", b"ours")
    assert (tmp_path / "goals.csv").read_text() == "mine"


@pytest.mark.parametrize("content", ["{", '{"ours": 1}', '{"ours": {}, "timings": {}, "files": 7}'])
def test_a_damaged_summary_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / SUMMARY).write_text(content)
    with pytest.raises(UserError, match="damaged"):
        _open(tmp_path)


def test_arrays_are_added_and_the_bytes_do_not_depend_on_the_order(tmp_path: Path) -> None:
    one, other = _open(tmp_path / "1"), _open(tmp_path / "2")
    one.add_arrays("m.npz", {"a": np.arange(3)})
    one.add_arrays("m.npz", {"b": np.ones(2)})
    other.add_arrays("m.npz", {"b": np.ones(2)})
    other.add_arrays("m.npz", {"a": np.arange(3)})
    assert (tmp_path / "1" / "m.npz").read_bytes() == (tmp_path / "2" / "m.npz").read_bytes()
    with np.load(tmp_path / "1" / "m.npz") as arrays:
        assert arrays["a"].tolist() == [0, 1, 2]
