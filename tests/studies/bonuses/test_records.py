from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bonus_records import comparison, record

from action_balance.errors import UserError
from action_balance.studies.bonuses import records
from action_balance.studies.bonuses.records import Record
from action_balance.studies.cells import record_path


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


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    path = record_path(tmp_path, "deep-sea-10--rnd")
    path.parent.mkdir()
    path.write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"deep-sea-10--rnd\.npz is damaged: delete it"):
        records.read_records(tmp_path)


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
