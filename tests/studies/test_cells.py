from dataclasses import replace
from pathlib import Path

import pytest
from bonus_records import record

from action_balance.errors import UserError
from action_balance.studies import cells
from action_balance.studies.bonuses.records import Record
from action_balance.studies.bonuses.settings import WORLDS, BonusesSettings, Cell, Setup
from action_balance.studies.cells import claimed, record_path


def test_a_record_with_other_settings_is_not_mistaken_for_one_of_the_plan(tmp_path: Path) -> None:
    made = record("deep-sea-10", "rnd", [1, 2])
    made.save(record_path(tmp_path, made.name))
    cell = BonusesSettings(seeds=2, steps=2048).cell("deep-sea-10", Setup("rnd"))
    assert cells.is_trained(tmp_path, cell, Record.load)
    assert not cells.is_trained(tmp_path / "nowhere", cell, Record.load)
    with pytest.raises(UserError, match="different settings"):
        cells.is_trained(tmp_path, replace(cell, config=replace(cell.config, seed=3)), Record.load)


def test_only_records_and_what_is_left_of_some_are_deleted(tmp_path: Path) -> None:
    for name in ("deep-sea-10--rnd", "mine"):
        record("deep-sea-10", "rnd", [1]).save(record_path(tmp_path, name))
    for name in (".deep-sea-10--rnd.lock", ".deep-sea-10--hash.npz.0123abcd.part"):  # of processes that were killed
        (tmp_path / "cells" / name).touch()
    cells.delete_records(tmp_path, WORLDS)
    assert [path.name for path in (tmp_path / "cells").iterdir()] == ["mine.npz"]


def test_checkpoints_are_deleted_with_the_records_unless_another_process_trains(tmp_path: Path) -> None:
    for name in ("deep-sea-10--rnd", "deep-sea-10--hash", "mine--rnd"):
        (cells.checkpoint_folder(tmp_path, name) / "0123456789abcdef" / "00000001").mkdir(parents=True)
        (cells.checkpoint_folder(tmp_path, name) / "aside").mkdir()
    (tmp_path / "cells" / "deep-sea-10.checkpoint").mkdir()
    with claimed(tmp_path, "deep-sea-10--hash"):
        cells.delete_records(tmp_path, WORLDS)
    found = sorted(path.name for path in (tmp_path / "cells").iterdir())
    assert found == [".deep-sea-10--hash.checkpoint", ".mine--rnd.checkpoint", "deep-sea-10.checkpoint"]


def test_only_checkpoints_are_deleted_from_their_folder(tmp_path: Path) -> None:
    folder = cells.checkpoint_folder(tmp_path, "deep-sea-10--rnd")
    (folder / "0123456789abcdef").mkdir(parents=True)
    (folder / "notes").write_text("mine")
    cells.delete_checkpoints(tmp_path, "deep-sea-10--rnd")
    assert [path.name for path in folder.iterdir()] == ["notes"]
    cells.delete_checkpoints(tmp_path, "deep-sea-10--hash")  # there are none


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
        assert cells.claims(tmp_path) == 1
    assert not lock.exists()
    assert cells.claims(tmp_path) == 0
    with claimed(tmp_path, name) as free:
        assert free
        record("deep-sea-10", "rnd", [1]).save(record_path(tmp_path, name))
    assert not lock.exists()
    del fcntl


def test_a_cell_is_trained_by_one_process_and_once(tmp_path: Path) -> None:
    cell = BonusesSettings(seeds=1, steps=2048).cell("deep-sea-10", Setup("rnd"))
    made: list[str] = []

    def train(cell: Cell, report: object) -> Record:
        del report
        made.append(cell.name)
        return record(cell.world, cell.setup.name, [1])

    with claimed(tmp_path, cell.name):
        assert not cells.train_cell(tmp_path, cell, Record.load, train)
    (cells.checkpoint_folder(tmp_path, cell.name) / "0123456789abcdef").mkdir(parents=True)
    assert cells.train_cell(tmp_path, cell, Record.load, train)
    assert not cells.checkpoint_folder(tmp_path, cell.name).exists()
    assert not cells.train_cell(tmp_path, cell, Record.load, train)
    assert made == ["deep-sea-10--rnd"]
    assert Record.load(record_path(tmp_path, cell.name)).config == cell.config
