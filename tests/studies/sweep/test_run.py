"""Whole sweeps, whose runs are written instead of trained."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from inline_cluster import InlineCluster
from rich.console import Console
from sweeps import BASE, EPOCHS, RATE, SPACE, Trainer, settings

from action_balance.config.cluster import ClusterConfig
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.runs import ResultFolder, RunFolder
from action_balance.studies import run_job
from action_balance.studies.sweep import run
from action_balance.studies.sweep.run import sweep
from action_balance.studies.sweep.settings import SweepSettings
from action_balance.studies.sweep.space import Choice, Space
from action_balance.studies.sweep.trials import Final, Trial

CLUSTER = ClusterConfig(on="ray")
SMALL = Space((Choice(EPOCHS, (1, 2, 3, 4)),))


def epochs(config: TrainConfig) -> float:
    return float(config.agent.algorithm.epochs)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Trainer]:
    """Sweeps of this test are trained in this process, with returns that depend on their settings."""

    def prepare(value: Callable[[TrainConfig], float] = epochs, **failures: str) -> Trainer:
        trainer = Trainer(value)
        named = {name.replace("_", " "): why for name, why in failures.items()}
        trainer.cluster = InlineCluster(named)
        monkeypatch.setattr(run, "train_jobs", trainer.cluster.train_jobs)
        monkeypatch.setattr(run_job, "train", trainer)
        return trainer

    return prepare


def swept(out: Path, plan: SweepSettings, overwrite: bool = False) -> str:
    console = Console(record=True, width=400)
    sweep(plan, out, overwrite, CLUSTER, console)
    return " ".join(console.export_text().split())


def trials(out: Path) -> list[Trial]:
    return [Trial.from_data(one) for one in ResultFolder.read(out).summary["ours"]["trials"]]


def statuses(out: Path) -> list[str]:
    return [one.status for one in trials(out)]


def test_a_sweep_stops_poor_trials_early_and_trains_the_best_with_fresh_seeds(
    tmp_path: Path, trained: Callable[..., Trainer]
) -> None:
    trainer, plan = trained(), settings(SMALL, final_seeds=5, finalists=1)
    text = swept(tmp_path, plan)
    found = trials(tmp_path)
    assert sorted(one.values[EPOCHS] for one in found) == [1, 2, 3, 4]
    best = found[0]
    for one, said in zip(found, trainer.cluster.said, strict=False):  # stopped early unless it is the best so far
        best = one if one.score > best.score else best
        assert one.status == ("finished" if best is one else "stopped early")
        early = f"stopped early after 11 %, score {one.score:.3g}; best so far: trial {best.number}, {best.score:.3g}"
        assert said == (f"finished, score {one.score:.3g}, the best so far" if best is one else early)
        assert (one.part, one.updates) == ((9, 18) if one.status == "finished" else (1, 2))
        config = RunFolder.open(tmp_path / "trials" / one.name).config
        assert config["agent"]["algorithm"]["epochs"] == one.score == one.values[EPOCHS]
    (final,) = (Final.from_data(one) for one in ResultFolder.read(tmp_path).summary["ours"]["finals"])
    assert (final.name, final.trial, final.search_score, final.scores) == ("baseline", best.number, 4.0, (4.0,) * 5)
    assert "The search prefers the settings without any change." in text
    assert f"Open {tmp_path / 'report.html'}" in text
    assert len((tmp_path / "sweep.csv").read_text().splitlines()) == 5
    before = list(trainer.trained)
    assert "already has 4 of 4 trials" in swept(tmp_path, plan)
    assert trainer.trained == before


def test_the_same_command_continues_an_interrupted_sweep_and_adds_trials(
    tmp_path: Path, trained: Callable[..., Trainer]
) -> None:
    plan = settings(trials=3, early_stopping=False, final_seeds=1, finalists=1)
    left = [18 + 7]  # the second trial is interrupted after seven updates

    def interrupted(config: TrainConfig) -> float:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return epochs(config)

    trained(interrupted)
    with pytest.raises(KeyboardInterrupt, match="shows the results so far; the same command continues"):
        swept(tmp_path, plan)
    assert statuses(tmp_path) == ["finished", "running"]
    values = [one.values for one in trials(tmp_path)]
    trainer = trained()
    swept(tmp_path, plan)
    assert [name for name in trainer.trained if name[0] < "0003"] == [("0001", 7), ("0002", 0)]
    assert [one.values for one in trials(tmp_path)][:2] == values
    swept(tmp_path, replace(plan, search=replace(plan.search, trials=5)))
    assert statuses(tmp_path) == ["finished"] * 5


def test_invalid_combinations_are_recorded_and_all_others_tried(
    tmp_path: Path, trained: Callable[..., Trainer]
) -> None:
    trained(lambda config: float(config.agent.envs))
    space = Space((Choice("algorithm.minibatches", (3, 5)), Choice("envs", (9, 10))))
    plan = settings(space, trials=20, final_seeds=1, early_stopping=False)
    text = swept(tmp_path, plan)
    found = {(one.values["algorithm.minibatches"], one.values["envs"]): one.status for one in trials(tmp_path)}
    assert found == {(3, 9): "finished", (5, 10): "finished", (3, 10): "invalid", (5, 9): "invalid"}
    assert "invalid: 3 minibatches do not divide 10 environments" in text
    assert "already has 4 of 4 trials" in swept(tmp_path, plan)


def test_a_sweep_whose_trials_all_fail_ends_and_tries_them_again(
    tmp_path: Path, trained: Callable[..., Trainer]
) -> None:
    def failing(config: TrainConfig) -> float:
        if config.agent.algorithm.epochs == 2:
            raise UserError("no such package")
        return 1.0

    plan = settings(trials=9, final_seeds=1, early_stopping=False)
    trained(lambda _: failing(plan.space.apply(BASE, {RATE: 0.001, EPOCHS: 2})))
    with pytest.raises(UserError, match="all trials fail: no such package"):
        swept(tmp_path, plan)
    assert statuses(tmp_path) == ["failed"] * 3
    trained(failing)
    swept(tmp_path, plan)
    swept(tmp_path, plan)  # now that others work, trials that fail have ended
    found = trials(tmp_path)
    assert {one.status for one in found if one.values[EPOCHS] == 4} == {"finished"}
    assert {one.status for one in found if one.values[EPOCHS] == 2} == {"failed"}
    before = (tmp_path / "journal.jsonl").read_bytes()
    swept(tmp_path, plan)
    assert len(trials(tmp_path)) == 9
    assert (tmp_path / "journal.jsonl").read_bytes() == before


def test_a_trial_that_crashes_is_tried_again_by_the_next_command(
    tmp_path: Path, trained: Callable[..., Trainer]
) -> None:
    plan = settings(trials=3, final_seeds=1, early_stopping=False)
    trained(trial_1="it crashed 10 times")
    swept(tmp_path, plan)
    found = trials(tmp_path)
    assert [(one.status, one.reason) for one in found] == [
        ("finished", ""),
        ("failed", "it crashed 10 times"),
        ("finished", ""),
    ]
    trained()
    swept(tmp_path, plan)
    assert statuses(tmp_path) == ["finished"] * 3


def test_another_sweep_does_not_continue_it(tmp_path: Path, trained: Callable[..., Trainer]) -> None:
    trained()
    plan = settings(SMALL, trials=1, final_seeds=1)
    swept(tmp_path, plan)
    for other in (replace(plan, base=replace(BASE, seed=4)), settings(SMALL, final_seeds=2)):
        with pytest.raises(UserError, match="different settings"):
            swept(tmp_path, other)
    journal = tmp_path / "journal.jsonl"
    for content in (journal.read_bytes().replace(EPOCHS.encode(), RATE.encode()), b"{}\nnonsense\nmore\n"):
        journal.write_bytes(content)
        with pytest.raises(UserError, match=r"journal\.jsonl is damaged"):
            swept(tmp_path, plan)


def test_overwriting_deletes_the_runs_of_the_sweep_and_nothing_else(
    tmp_path: Path, trained: Callable[..., Trainer], monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = settings(SPACE, trials=2, finalists=1, final_seeds=5)
    trained()
    swept(tmp_path, plan)
    (tmp_path / "final" / "mine").mkdir()
    (tmp_path / "final" / "mine" / "notes.txt").write_text("mine")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    checked: list[object] = []
    monkeypatch.setattr(run, "check_cluster", checked.append)  # before anything is deleted
    monkeypatch.setattr(run, "train_jobs", interrupted)
    with pytest.raises(KeyboardInterrupt, match="the same command without --overwrite continues"):
        swept(tmp_path, plan, overwrite=True)
    assert checked == [CLUSTER]
    assert [path.name for path in (tmp_path / "final").iterdir()] == ["mine"]
    assert ResultFolder.read(tmp_path).summary["ours"] == {"trials": [], "finals": []}


def test_a_sweep_without_the_extra_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(UserError, match=r"ray is not installed, but sweep needs it: .*\[cluster\]"):
        sweep(settings(), tmp_path / "new", False, CLUSTER, Console(quiet=True))
    assert not (tmp_path / "new").exists()
