"""The folder of a sweep."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console
from sweeps import BASE, EPOCHS, RATE, SPACE, settings, trial, write_run

from action_balance.config.cluster import ClusterConfig
from action_balance.errors import UserError
from action_balance.runs import ResultFolder
from action_balance.studies.sweep import KIND, run
from action_balance.studies.sweep.final import Final
from action_balance.studies.sweep.run import Record, sweep
from action_balance.studies.sweep.settings import SweepSettings

CLUSTER = ClusterConfig(on="ray")


def opened(out: Path, plan: SweepSettings, clock: Iterator[float] | None = None) -> Record:
    folder = ResultFolder.open(out, KIND, plan.to_data(), False, {})
    folder.release()
    return Record(folder, plan) if clock is None else Record(folder, plan, lambda: next(clock))


def table(out: Path) -> list[str]:
    return (out / "sweep.csv").read_text().splitlines()


def test_trials_are_kept_at_once_and_the_report_is_written_every_ten_seconds(tmp_path: Path) -> None:
    now = iter([0.0, 0.0, 4.0, 9.9, 10.0, 10.0])
    plan = settings()
    record = opened(tmp_path, plan, now)
    record.ledger.add({RATE: 0.001, EPOCHS: 2})
    assert len(table(tmp_path)) == 2
    record.ledger.add({RATE: 0.002, EPOCHS: 2})
    record.ledger.add({RATE: 0.003, EPOCHS: 2})
    assert len(table(tmp_path)) == 2
    assert len(opened(tmp_path, plan).ledger.trials) == 3
    record.ledger.change(0, status="finished", score=0.5)
    assert len(table(tmp_path)) == 4
    assert (tmp_path / "report.html").is_file()


def test_a_sweep_continues_with_its_trials_and_finals(tmp_path: Path) -> None:
    plan = settings()
    record = opened(tmp_path, plan)
    record.ledger.trials = [trial(0, 0.5), trial(1, status="running", part=0)]
    record.finals = [Final("baseline", {}, scores=(1.0, 2.0))]
    record.publish()
    again = opened(tmp_path, settings(trials=99))
    assert [one.to_data() for one in again.ledger.trials] == [one.to_data() for one in record.ledger.trials]
    assert again.finals == record.finals


def test_another_sweep_does_not_continue_it(tmp_path: Path) -> None:
    opened(tmp_path, settings())
    with pytest.raises(UserError, match="different settings"):
        opened(tmp_path, settings(metric="states"))
    with pytest.raises(UserError, match="different settings"):
        opened(tmp_path, settings(base=replace(BASE, seed=4)))


def test_runs_say_how_trials_ended_that_nobody_saw(tmp_path: Path) -> None:
    plan = settings()
    record = opened(tmp_path, plan)
    record.ledger.trials = [trial(number, status="running", part=0) for number in range(2)]
    config = SPACE.apply(BASE, record.ledger.trials[0].values)
    write_run(tmp_path / "trials" / "0000", config, [[1.0] * 18, [2.0] * 18])
    record.recover()
    assert [(one.status, one.updates) for one in record.ledger.trials] == [("finished", 18), ("running", 0)]


def finished(out: Path, plan: SweepSettings) -> None:
    """A sweep whose runs are all there."""
    record = opened(out, plan)
    record.ledger.trials = [trial(0, 0.5), trial(1, 0.75)]
    record.publish()
    base, best = plan.fresh, SPACE.apply(plan.fresh, record.ledger.trials[1].values)
    write_run(out / "final" / "baseline", base, [[1.0] * 18] * 5)
    write_run(out / "final" / "trial-0001", best, [[2.0] * 18] * 5)


def test_a_finished_sweep_is_reported_without_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = settings(trials=2, finalists=1, final_seeds=5)
    finished(tmp_path, plan)
    monkeypatch.setattr(run, "ray_session", None)
    console = Console(record=True, width=200)
    sweep(plan, tmp_path, False, CLUSTER, console)
    text = console.export_text()
    assert "already has 2 of 2 trials" in text
    assert "The search prefers learning_rate 0.002, epochs 2 (trial 1)" in " ".join(text.split())
    assert "The difference is significant (95 % interval 1.00 to 1.00)." in text
    assert Final.from_data(ResultFolder.read(tmp_path).summary["ours"]["finals"][1]).scores == (2.0,) * 5


def test_overwriting_deletes_the_runs_of_the_sweep_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = settings(trials=2, finalists=1, final_seeds=5)
    finished(tmp_path, plan)
    (tmp_path / "final" / "mine").mkdir()
    (tmp_path / "final" / "mine" / "notes.txt").write_text("mine")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    checked: list[object] = []
    monkeypatch.setattr(run, "check_cluster", checked.append)  # before anything is deleted
    monkeypatch.setattr(run, "_search", interrupted)
    with pytest.raises(KeyboardInterrupt, match="the same command without --overwrite continues"):
        sweep(plan, tmp_path, True, CLUSTER, Console(quiet=True))
    assert checked == [CLUSTER]
    assert [path.name for path in (tmp_path / "final").iterdir()] == ["mine"]
    assert ResultFolder.read(tmp_path).summary["ours"] == {"trials": [], "finals": []}


def test_a_sweep_without_the_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"ray is not installed, but sweep needs it: .*\[cluster\]"):
        sweep(settings(), tmp_path / "new", False, CLUSTER, Console(quiet=True))
    assert not (tmp_path / "new").exists()
