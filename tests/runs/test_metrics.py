"""Metrics are readable, deterministic, cut back exactly on resume, and the same for TensorBoard."""

import math
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from action_balance.errors import UserError
from action_balance.runs import MetricsLog, read_metrics


def _rows(update: int) -> list[dict[str, Any]]:
    return [{"update": update, "seed": seed, "steps": 10 * update, "loss": update / 4 + seed} for seed in range(2)]


def _fill(path: Path, updates: int) -> MetricsLog:
    log = MetricsLog(path)
    for update in range(1, updates + 1):
        log.append(_rows(update), {"steps_per_second": 5.0})
    return log


def _scalars(path: Path, run: str, tag: str) -> list[tuple[int, float]]:
    events = EventAccumulator(str(path / "tensorboard" / run)).Reload()
    return [(scalar.step, scalar.value) for scalar in events.Scalars(tag)]


def test_a_row_is_one_line_of_json_in_the_order_given(tmp_path: Path) -> None:
    row = {"update": 1, "seed": 0, "steps": 8, "b": 0.5, "a": math.nan, "c": [1.0, -math.inf, math.nan], "d": math.inf}
    MetricsLog(tmp_path).append([{**row, "update": np.int32(1), "b": jnp.float32(0.5), "c": np.array(row["c"])}])
    text = (tmp_path / "metrics.jsonl").read_text()
    assert text == '{"update": 1, "seed": 0, "steps": 8, "b": 0.5, "a": null, "c": [1.0, "-inf", null], "d": "inf"}\n'
    (found,) = read_metrics(tmp_path)
    assert list(found) == list(row)
    assert math.isnan(found["a"])
    assert found["c"][:2] == [1.0, -math.inf]
    assert found["d"] == math.inf


def test_what_depends_on_the_clock_is_in_its_own_file(tmp_path: Path) -> None:
    _fill(tmp_path, 2)
    assert b"steps_per_second" not in (tmp_path / "metrics.jsonl").read_bytes()
    assert read_metrics(tmp_path, "timing.jsonl") == [
        {"update": 1, "steps": 10, "steps_per_second": 5.0},
        {"update": 2, "steps": 20, "steps_per_second": 5.0},
    ]
    assert _scalars(tmp_path, "timing", "steps_per_second") == [(10, 5.0), (20, 5.0)]


def test_without_tensorboard_the_same_rows_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("with", "without"):
        (tmp_path / name).mkdir()
    _fill(tmp_path / "with", 3)
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto", None)
    log = _fill(tmp_path / "without", 3)
    assert (tmp_path / "without" / "metrics.jsonl").read_bytes() == (tmp_path / "with" / "metrics.jsonl").read_bytes()
    assert not (tmp_path / "without" / "tensorboard").exists()
    log.truncate_after(2)
    assert read_metrics(tmp_path / "without")[-1]["update"] == 2


def test_tensorboard_reads_the_same_values(tmp_path: Path) -> None:
    log = _fill(tmp_path, 3)
    log.append([{"update": 4, "seed": 1, "steps": 40, "loss": math.nan, "actions": [0.25, 0.75]}])
    assert _scalars(tmp_path, "seed-0", "loss") == [(10, 0.25), (20, 0.5), (30, 0.75)]
    assert _scalars(tmp_path, "seed-1", "loss") == [(10, 1.25), (20, 1.5), (30, 1.75)]
    assert _scalars(tmp_path, "seed-1", "actions/1") == [(40, 0.75)]


def test_the_user_is_told_before_anything_is_moved(tmp_path: Path) -> None:
    log = _fill(tmp_path, 3)
    file = tmp_path / "metrics.jsonl"
    before = file.read_bytes().replace(b'"seed": 1', b'"seed" 1', 1)
    file.write_bytes(before)

    def say(line: str) -> None:
        assert str(tmp_path / "aside") in line
        assert not (tmp_path / "aside").exists()
        assert file.read_bytes() == before
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        log.truncate_after(2, say)
    assert file.read_bytes() == before


def test_truncating_to_the_beginning_moves_everything(tmp_path: Path) -> None:
    said: list[str] = []
    MetricsLog(tmp_path).truncate_after(0, said.append)
    assert list(tmp_path.iterdir()) == []
    log = _fill(tmp_path, 2)
    before = {name: (tmp_path / name).read_bytes() for name in ("metrics.jsonl", "timing.jsonl")}
    log.truncate_after(0, said.append)
    assert read_metrics(tmp_path) == []
    aside = tmp_path / "aside" / "0001-without-checkpoint"
    assert {path.name: path.read_bytes() for path in aside.iterdir()} == before
    (line,) = said
    assert "(4 of metrics.jsonl, 2 of timing.jsonl)" in line


def test_lost_rows_are_named_and_intact_ones_after_them_stay(tmp_path: Path) -> None:
    log = _fill(tmp_path, 3)
    file = tmp_path / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], b"\0" * 100 + b"\n", *lines[3:]]))
    said: list[str] = []
    log.truncate_after(3, said.append)
    assert ["1 damaged line is moved" in line for line in said] == [True]
    assert [(row["update"], row["seed"]) for row in read_metrics(tmp_path)] == [(1, 0), (1, 1), (2, 1), (3, 0), (3, 1)]
    aside = tmp_path / "aside" / "0001-damaged-or-after-update-3"
    assert {path.name: path.read_bytes() for path in aside.iterdir()} == {"metrics.jsonl": b"\0" * 100 + b"\n"}
    file.write_bytes(b"".join(lines[:-2]))
    log.truncate_after(3, said.append)
    assert "rows up to update 3 are lost" in said[-1]


def test_tensorboard_forgets_what_was_cut_and_survives_half_of_a_record(tmp_path: Path) -> None:
    _fill(tmp_path, 5)
    (file,) = (tmp_path / "tensorboard" / "seed-0").iterdir()
    file.write_bytes(file.read_bytes()[:-5])
    log = MetricsLog(tmp_path)
    log.truncate_after(2)
    log.append([{**row, "loss": -1.0} for row in _rows(3)])
    assert _scalars(tmp_path, "seed-0", "loss") == [(10, 0.25), (20, 0.5), (30, -1.0)]
    assert _scalars(tmp_path, "seed-1", "loss") == [(10, 1.25), (20, 1.5), (30, -1.0)]


def test_all_rows_that_exist_are_put_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, synced = _fill(tmp_path, 1), []
    monkeypatch.setattr("os.fsync", lambda descriptor: synced.append(os.fstat(descriptor).st_ino))
    log.sync()
    files = [tmp_path / name for name in ("metrics.jsonl", "timing.jsonl")]
    assert synced == [path.stat().st_ino for path in (*files, tmp_path)]
    assert not (tmp_path / "visits.jsonl").exists()

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(UserError, match=r"cannot write .*metrics\.jsonl: Input/output error"):
        log.sync()


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    _fill(tmp_path, 2)
    file = tmp_path / "metrics.jsonl"
    file.write_bytes(file.read_bytes().replace(b'"seed": 1', b'"seed" 1', 1))
    with pytest.raises(UserError, match=r"line 2 of .*metrics\.jsonl is damaged"):
        read_metrics(tmp_path)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize(("module", "name"), [("metrics", r"metrics\.jsonl"), ("events", "tensorboard")])
def test_a_full_disk_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, name: str) -> None:
    log = MetricsLog(tmp_path)
    full = partial(open, "/dev/full", "ab")
    monkeypatch.setattr(f"action_balance.runs.{module}.open_to_append", lambda _: full())
    with pytest.raises(UserError, match=rf"cannot write .*{name}: No space left on device$"):
        log.append(_rows(1))


@pytest.mark.parametrize("name", ["metrics.jsonl", "tensorboard/seed-0/events.out.tfevents.000001"])
def test_nothing_is_appended_through_a_link(tmp_path: Path, name: str) -> None:
    log = MetricsLog(tmp_path)
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).symlink_to(tmp_path / "precious")
    with pytest.raises(UserError, match="not a regular file"):
        log.append(_rows(1))
    assert (tmp_path / "precious").read_bytes() == b"mine"


@pytest.mark.parametrize("name", ["tensorboard", "tensorboard/seed-0"])
def test_nothing_is_written_to_a_folder_behind_a_link(tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "run" / name).parent.mkdir(parents=True)
    (tmp_path / "run" / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="points outside"):
        MetricsLog(tmp_path / "run").append(_rows(1))
    assert list((tmp_path / "elsewhere").iterdir()) == []
