from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bonus_records import comparison, record

from action_balance.errors import UserError
from action_balance.studies import cells
from action_balance.studies.bonuses import records
from action_balance.studies.bonuses.records import Record
from action_balance.studies.bonuses.settings import WORLDS, BonusesSettings, Setup
from action_balance.studies.cells import claimed, record_path


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = record("deep-sea-10", "rnd", [7, -1], comparisons={"states": comparison([[0.5], [1.0]], [0.0, 1.0])})
    path = record_path(tmp_path, made.name)
    assert path.name == "deep-sea-10--rnd.npz"
    made.save(path)
    read = Record.load(path)
    assert (read.world, read.setup, read.config, read.made_by) == (made.world, made.setup, made.config, made.made_by)
    np.testing.assert_array_equal(read.found, [True, False])
    np.testing.assert_array_equal(read.found_steps, [7, 2048])
    np.testing.assert_array_equal(read.comparisons["states"].ratio, made.comparisons["states"].ratio)
    assert [*read.comparisons] == ["states"]
    assert path.stat().st_size < 4000


def test_records_are_sorted_as_in_tables(tmp_path: Path) -> None:
    made = [("open-40", "rnd"), ("deep-sea-10", "count"), ("deep-sea-10", "rnd+distillation"), ("deep-sea-10", "rnd")]
    for world, setup in made:
        record(world, setup, [1]).save(record_path(tmp_path, f"{world}--{setup}"))
    assert [one.name for one in records.read_records(tmp_path)] == [
        "deep-sea-10--rnd",
        "deep-sea-10--rnd+distillation",
        "deep-sea-10--count",
        "open-40--rnd",
    ]


def test_a_record_with_other_settings_is_not_mistaken_for_one_of_the_plan(tmp_path: Path) -> None:
    made = record("deep-sea-10", "rnd", [1, 2])
    made.save(record_path(tmp_path, made.name))
    cell = BonusesSettings(seeds=2, steps=2048).cell("deep-sea-10", Setup("rnd"))
    assert cells.is_trained(tmp_path, cell, Record.load)
    assert not cells.is_trained(tmp_path / "nowhere", cell, Record.load)
    with pytest.raises(UserError, match="different settings"):
        cells.is_trained(tmp_path, replace(cell, config=replace(cell.config, seed=3)), Record.load)


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    path = record_path(tmp_path, "deep-sea-10--rnd")
    path.parent.mkdir()
    path.write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"deep-sea-10--rnd\.npz is damaged: delete it"):
        records.read_records(tmp_path)


def test_only_records_and_what_is_left_of_some_are_deleted(tmp_path: Path) -> None:
    for name in ("deep-sea-10--rnd", "mine"):
        record("deep-sea-10", "rnd", [1]).save(record_path(tmp_path, name))
    for name in (".deep-sea-10--rnd.lock", ".deep-sea-10--hash.npz.0123abcd.part"):  # of processes that were killed
        (tmp_path / "cells" / name).touch()
    cells.delete_records(tmp_path, WORLDS)
    assert [path.name for path in (tmp_path / "cells").iterdir()] == ["mine.npz"]


def test_records_are_not_deleted_through_a_link(tmp_path: Path) -> None:
    record("deep-sea-10", "rnd", [1]).save(record_path(tmp_path / "elsewhere", "deep-sea-10--rnd"))
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "cells").symlink_to(tmp_path / "elsewhere" / "cells")
    with pytest.raises(UserError, match="points outside"):
        cells.delete_records(tmp_path / "out", WORLDS)
    assert record_path(tmp_path / "elsewhere", "deep-sea-10--rnd").exists()


def test_a_claim_ends_without_a_trace(tmp_path: Path) -> None:
    fcntl = pytest.importorskip("fcntl")
    name = "deep-sea-10--rnd"
    lock = tmp_path / "cells" / f".{name}.lock"
    with claimed(tmp_path, name) as free:
        assert free
        assert lock.exists()
    assert not lock.exists()
    with claimed(tmp_path, name) as free:
        assert free
        record("deep-sea-10", "rnd", [1]).save(record_path(tmp_path, name))
    assert not lock.exists()
    del fcntl


@pytest.mark.parametrize(
    "change",
    [
        {"score": np.zeros(3, np.float32)},
        {"states": np.zeros((2, 3), np.int32)},
        {"steps": np.array(["a", "b"])},
        {"kl": np.zeros(5, np.float32)},
        {"first_reward": np.empty(0, np.int32)},
        {"world": "nowhere"},
        {"comparisons": {"states": replace(comparison([[0.5], [1.0]], [0.0]), rank=np.zeros((2, 4), np.float32))}},
    ],
)
def test_arrays_that_do_not_belong_together_are_damage(tmp_path: Path, change: dict[str, Any]) -> None:
    path = record_path(tmp_path, "deep-sea-10--rnd")
    replace(record("deep-sea-10", "rnd", [7, -1]), **change).save(path)
    with pytest.raises(UserError, match="is damaged: delete it"):
        Record.load(path)
