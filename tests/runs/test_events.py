"""Scalars for TensorBoard, which reads them with its own reader."""

import math
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from action_balance.runs.events import EventLog, event_log


def scalars(path: Path, tag: str) -> list[tuple[int, float]]:
    events = EventAccumulator(str(path / "run")).Reload()
    return [(scalar.step, scalar.value) for scalar in events.Scalars(tag)]


def test_lists_become_scalars_and_what_is_not_finite_is_skipped(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.write("run", 3, {"loss": 0.5, "shares": [0.25, math.nan, 0.75], "none": math.inf})
    assert scalars(tmp_path, "loss") == [(3, 0.5)]
    assert scalars(tmp_path, "shares/2") == [(3, 0.75)]
    assert EventAccumulator(str(tmp_path / "run")).Reload().Tags()["scalars"] == ["loss", "shares/0", "shares/2"]


def test_every_start_writes_a_new_file_and_forgets_from_a_step_on(tmp_path: Path) -> None:
    for step in (1, 2, 3):
        EventLog(tmp_path).write("run", step, {"loss": step})
    log = EventLog(tmp_path)
    log.forget_from(2)
    log.write("run", 2, {"loss": 9.0})
    assert len(list((tmp_path / "run").iterdir())) == 4
    assert scalars(tmp_path, "loss") == [(1, 1), (2, 9)]


def test_without_the_package_there_is_no_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(event_log(tmp_path), EventLog)
    monkeypatch.setitem(sys.modules, "tensorboard.compat.proto", None)
    assert event_log(tmp_path) is None


def test_names_of_foreign_files_are_not_numbers(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for suffix in ("\u00b2", "1" * 200, "x", "000004"):
        (tmp_path / "run" / f"events.out.tfevents.{suffix}").touch()
    EventLog(tmp_path).write("run", 1, {"loss": 1.0})
    assert (tmp_path / "run" / "events.out.tfevents.000005").exists()
