import io
import pickle
from pathlib import Path

import pytest
from bonus_records import record
from inline_cluster import InlineCluster
from rich.console import Console

from action_balance.cluster import worker
from action_balance.config.cluster import ClusterConfig
from action_balance.errors import UserError
from action_balance.runs.owned import FolderBusy
from action_balance.studies import cell_study, cells
from action_balance.studies.bonuses.records import Record
from action_balance.studies.bonuses.reproduce import reproduce_bonuses
from action_balance.studies.bonuses.settings import WORLDS, BonusesSettings, Cell, Setup
from action_balance.studies.cell_study import CellJob, Wanted
from action_balance.studies.cells import claimed, record_path
from action_balance.studies.exploration.reproduce import reproduce_exploration
from action_balance.studies.exploration.settings import ExplorationSettings

SETTINGS = BonusesSettings(seeds=1, steps=2048)


def recorded(cell: Cell, report: object, out: Path | None = None) -> Record:
    """The record of a cell, without a training."""
    del report, out
    return record(cell.world, cell.setup.name, [1])


def plan(*names: str) -> dict[str, Cell]:
    made = [SETTINGS.cell("deep-sea-10", Setup(name)) for name in names]
    return {cell.name: cell for cell in made}


def test_what_trains_a_study_can_be_sent_to_another_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    studies: list[cell_study.CellStudy] = []
    monkeypatch.setattr(cell_study, "run", lambda study, *_: studies.append(study))
    reproduce_bonuses(BonusesSettings(scale="full"), tmp_path, cell_study.Wanted(), Console())
    reproduce_exploration(ExplorationSettings(scale="full"), tmp_path, cell_study.Wanted(), Console())
    for study in studies:
        train, load, plan = pickle.loads(pickle.dumps((study.train, study.load, study.plan)))
        assert train.keywords == {"out": tmp_path}
        assert load == study.load
        assert plan == study.plan
    assert [study.kind for study in studies] == ["reproduce bonuses", "reproduce exploration"]


def test_a_cell_that_fails_does_not_stop_the_others(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = BonusesSettings(
        seeds=1, steps=2048, worlds=("deep-sea-10",), intrinsic=("none", "rnd"), studies=("worth",)
    )
    plan = {name: cell for name, cell in settings.plan().items() if cell.setup.action == "none"}
    reported: list[bool] = []

    def train(cell: Cell, report: object) -> Record:
        del report
        if cell.setup.name == "none":
            raise UserError("it needs more memory")
        return record(cell.world, cell.setup.name, [1])

    study = cell_study.CellStudy("reproduce bonuses", plan, Record.load, train, WORLDS, reported.append, lambda: None)
    with pytest.raises(UserError, match="could not train deep-sea-10--none"):
        cell_study.run(study, tmp_path, cell_study.Wanted(), Console())
    assert record_path(tmp_path, "deep-sea-10--rnd").exists()
    assert reported == [False]
    assert "deep-sea-10--none could not be trained: it needs more memory" in capsys.readouterr().out


def test_an_interruption_says_that_there_are_checkpoints(tmp_path: Path) -> None:
    plan = {"deep-sea-10--rnd": BonusesSettings(seeds=1, steps=2048).cell("deep-sea-10", Setup("rnd"))}

    def train(cell: Cell, report: object) -> Record:
        del report
        (cells.checkpoint_folder(tmp_path, cell.name) / "0123456789abcdef").mkdir(parents=True)
        raise KeyboardInterrupt

    study = cell_study.CellStudy("reproduce bonuses", plan, Record.load, train, WORLDS, lambda _: None, lambda: None)
    with pytest.raises(KeyboardInterrupt, match=r"checkpoints of the unfinished.* the same command continues"):
        cell_study.run(study, tmp_path, cell_study.Wanted(train_only=True), Console())


def test_checkpoints_that_a_killed_process_left_beside_a_record_are_deleted(tmp_path: Path) -> None:
    made = record("deep-sea-10", "rnd", [1])
    made.save(record_path(tmp_path, made.name))
    (cells.checkpoint_folder(tmp_path, made.name) / "0123456789abcdef").mkdir(parents=True)
    plan = {made.name: BonusesSettings(seeds=1, steps=2048).cell("deep-sea-10", Setup("rnd"))}

    def train(cell: Cell, report: object) -> Record:
        raise AssertionError((cell, report))

    study = cell_study.CellStudy("reproduce bonuses", plan, Record.load, train, WORLDS, lambda _: None, lambda: None)
    cell_study.run(study, tmp_path, cell_study.Wanted(train_only=True), Console())
    assert [path.name for path in (tmp_path / "cells").iterdir()] == [f"{made.name}.npz"]


def test_a_cluster_trains_the_cells_without_a_record_and_the_report_follows_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, reported = InlineCluster(), list[list[str]]()
    monkeypatch.setattr(cell_study, "train_jobs", cluster.train_jobs)
    record("deep-sea-10", "rnd", [1]).save(record_path(tmp_path, "deep-sea-10--rnd"))

    def report(keep: bool) -> None:
        del keep
        reported.append(sorted(path.stem for path in cells.record_paths(tmp_path)))

    study = cell_study.CellStudy(
        "reproduce bonuses", plan("none", "rnd", "hash"), Record.load, recorded, WORLDS, report, lambda: None
    )
    cell_study.run(study, tmp_path, Wanted(cluster=ClusterConfig(on="ray")), Console(file=io.StringIO()))
    assert cluster.trained == ["deep-sea-10--none", "deep-sea-10--hash"]
    assert reported == [
        ["deep-sea-10--none", "deep-sea-10--rnd"],
        *2 * [["deep-sea-10--hash", "deep-sea-10--none", "deep-sea-10--rnd"]],  # the last of them, and in the end
    ]
    assert cluster.finished_before == 1


def test_one_cell_is_trained_without_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PATIENCE", 0.0)

    def report(keep: bool) -> None:
        raise AssertionError(keep)

    console = Console(file=io.StringIO())
    study = cell_study.CellStudy(
        "reproduce bonuses", plan("none", "rnd"), Record.load, recorded, WORLDS, report, lambda: None
    )
    for _ in range(2):  # a second time, nothing is left to do
        cell_study.run(study, tmp_path, Wanted(only="deep-sea-10--rnd"), console)
    assert cell_study.unfinished(tmp_path, study.plan, Record.load) == ["deep-sea-10--none"]
    with (
        claimed(tmp_path, "deep-sea-10--none"),
        pytest.raises(UserError, match="another process trains deep-sea-10--none"),
    ):
        cell_study.run(study, tmp_path, Wanted(only="deep-sea-10--none"), console)
    with pytest.raises(UserError, match="unknown run 'deep-sea-10--rn': did you mean deep-sea-10--rnd"):
        cell_study.run(study, tmp_path, Wanted(only="deep-sea-10--rn"), console)


def test_a_job_has_the_checkpoints_and_the_record_of_its_cell(tmp_path: Path) -> None:
    folder = tmp_path / "cells"
    job = CellJob(plan("rnd")["deep-sea-10--rnd"], folder, Record.load, recorded)
    assert job.saved() == 0
    for update in (3, 7):
        checkpoint = cells.checkpoint_folder(tmp_path, job.name) / "0123456789abcdef" / f"{update:08d}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "arrays.npz").touch()
    assert job.saved() == 7
    job.train(print, print)
    assert [path.name for path in folder.iterdir()] == ["deep-sea-10--rnd.npz"]


def test_a_job_is_trained_by_one_process(tmp_path: Path) -> None:
    folder = tmp_path / "cells"
    job = CellJob(plan("rnd")["deep-sea-10--rnd"], folder, Record.load, recorded)
    with job.claim():
        with pytest.raises(FolderBusy):
            job.train(print, print)
        with pytest.raises(FolderBusy), job.claim():
            pass
    job.train(print, print)
    assert record_path(tmp_path, job.name).exists()


def test_a_report_alone_needs_no_cluster() -> None:
    with pytest.raises(UserError, match="leave out --on or --report-only"):
        Wanted(report_only=True, cluster=ClusterConfig(on="ray"))
