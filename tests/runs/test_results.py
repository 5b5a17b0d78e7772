"""A result folder is whole or not there, continued or refused, never silently overwritten."""

import json
from pathlib import Path

import numpy as np
import pytest

from action_balance.errors import UserError
from action_balance.files import write_atomically
from action_balance.runs.results import SUMMARY, ResultFolder
from action_balance.studies.grid.settings import GridSettings, RunSettings


def _open(path: Path, settings: RunSettings | None = None, overwrite: bool = False) -> ResultFolder:
    return ResultFolder.open(path, "test", settings or RunSettings(), overwrite, {})


def test_a_new_folder_has_a_summary_at_once(tmp_path: Path) -> None:
    _open(tmp_path / "a" / "b")
    summary = json.loads((tmp_path / "a" / "b" / SUMMARY).read_text())
    assert summary["settings"]["runs"] == 100
    assert summary["ours"] == {}
    assert "jax" in summary["versions"]


def test_the_same_settings_continue(tmp_path: Path) -> None:
    folder = _open(tmp_path)
    folder.summary["ours"]["coverage"] = {"cells": 1}
    folder.save()
    assert _open(tmp_path).summary["ours"] == {"coverage": {"cells": 1}}


def test_the_choice_of_studies_does_not_make_another_result(tmp_path: Path) -> None:
    _open(tmp_path, GridSettings(studies=("coverage",)))
    _open(tmp_path, GridSettings(studies=("goals",)))


def test_other_settings_are_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    _open(tmp_path)
    before = (tmp_path / SUMMARY).read_bytes()
    with pytest.raises(UserError, match=r"other settings.*--overwrite"):
        _open(tmp_path, RunSettings(runs=7))
    assert (tmp_path / SUMMARY).read_bytes() == before


def test_overwrite_deletes_the_result_and_nothing_else(tmp_path: Path) -> None:
    folder = _open(tmp_path)
    for name in ("goals.csv", "figures/heatmaps.png", "figures/heatmaps.svg"):
        folder.write(name, b"old")
    for mine in ("notes.txt", "figures/thesis.png"):
        (tmp_path / mine).write_text("mine")
    _open(tmp_path, RunSettings(runs=7), overwrite=True)
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file())
    assert left == ["figures/thesis.png", "notes.txt", SUMMARY]


def test_files_of_a_result_without_a_summary_are_refused(tmp_path: Path) -> None:
    (tmp_path / "goals.csv").write_text("mine")
    for overwrite in (False, True):
        with pytest.raises(UserError, match=r"no summary\.json"):
            _open(tmp_path, overwrite=overwrite)
    assert (tmp_path / "goals.csv").read_text() == "mine"


@pytest.mark.parametrize("content", ["{", "[]", '{"ours": 1}'])
def test_a_damaged_summary_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / SUMMARY).write_text(content)
    with pytest.raises(UserError, match="damaged"):
        _open(tmp_path)


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match="a file is in the way"):
            _open(path)
    assert (tmp_path / "file").read_text() == "mine"


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


def test_csv_has_empty_fields_for_nan(tmp_path: Path) -> None:
    folder = _open(tmp_path)
    folder.write_csv("a.csv", ("x", "y"), [(1, float("nan")), ("b", 0.5)])
    assert (tmp_path / "a.csv").read_text() == "x,y\n1,\nb,0.5\n"


def test_damaged_arrays_are_named(tmp_path: Path) -> None:
    folder = _open(tmp_path)
    for content in (b"", b"PK"):
        (tmp_path / "m.npz").write_bytes(content)
        with pytest.raises(UserError, match="damaged"):
            folder.add_arrays("m.npz", {"a": np.arange(3)})


def test_arrays_are_added_and_the_bytes_do_not_depend_on_the_order(tmp_path: Path) -> None:
    one, other = _open(tmp_path / "1"), _open(tmp_path / "2")
    one.add_arrays("m.npz", {"a": np.arange(3)})
    one.add_arrays("m.npz", {"b": np.ones(2)})
    other.add_arrays("m.npz", {"b": np.ones(2)})
    other.add_arrays("m.npz", {"a": np.arange(3)})
    assert (tmp_path / "1" / "m.npz").read_bytes() == (tmp_path / "2" / "m.npz").read_bytes()
    with np.load(tmp_path / "1" / "m.npz") as arrays:
        assert arrays["a"].tolist() == [0, 1, 2]
