"""The runner, with the Atari study: runs are made up instead of trained."""

import io
import json
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from command import call
from inline_cluster import InlineCluster
from page_text import counts_of_runs
from rich.console import Console
from synthetic_runs import Episodes, make_run, strip, tree

from action_balance.cli import main as cli
from action_balance.config.cluster import ClusterConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.callbacks import Listeners
from action_balance.engines.metrics_rows import Progress
from action_balance.envs.host_base import EnvironmentsLost
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.runs.folder import RunStatus
from action_balance.runs.owned import FolderBusy
from action_balance.studies import run_job, runner
from action_balance.studies.atari.reproduce import STUDY
from action_balance.studies.atari.settings import AtariSettings
from action_balance.studies.atari.training import AtariTraining
from action_balance.studies.runner import Wanted, unfinished
from action_balance.studies.settings_text import run_commands

FLAGS = ("--steps", "1536", "--envs", "4", "--warmup-rollouts", "1", "--channels", "4")
SMALL = AtariTraining(steps=1536, envs=4, warmup_rollouts=1, channels=4)
SEVEN: Episodes = [(100, 3.0), (100, 7.0)]
TWO = AtariSettings(("venture",), ("rnd",), 2, 0, training=SMALL)


def reproduce(out: Path, *words: str) -> int:
    return call("reproduce", "atari", "--out", str(out), *FLAGS, *words)


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Runs are finished at once; their names, in order."""
    names: list[str] = []
    train_as(monkeypatch, lambda _: "finished", names)
    return names


def train_as(
    monkeypatch: pytest.MonkeyPatch,
    outcome: Callable[[TrainConfig], RunStatus | BaseException],
    names: list[str] | None = None,
) -> None:
    """Runs end in this way; those that do not finish have half of their updates."""

    def train(path: Path, config: TrainConfig, listeners: Listeners, trust: bool = False) -> None:
        assert not listeners.callbacks
        assert not trust
        assert not run_job.is_finished(path, config)
        (names if names is not None else []).append(path.name)
        end = outcome(config)
        RunFolder.delete(path)
        if end == "finished":
            make_run(path.parents[1], config, SEVEN)
            listeners.on_message(f"trained by {listeners.command[0]}")
            listeners.report(Progress(1, 512, 3.0, 3.0, 0.0, 0.0))
            return
        make_run(path.parents[1], config, SEVEN[:1], "interrupted")
        assert isinstance(end, BaseException)
        raise end

    monkeypatch.setattr(runner, "train", train)
    monkeypatch.setattr(run_job, "train", train)


def test_runs_are_trained_in_order_and_what_is_there_is_kept(
    tmp_path: Path, trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--games", "venture", "gravitar", "--methods", "rnd", "--seeds")
    assert reproduce(tmp_path, *words, "2") == 0
    assert trained == ["venture-rnd-0", "gravitar-rnd-0", "venture-rnd-1", "gravitar-rnd-1"]
    assert counts_of_runs((tmp_path / "report.html").read_text()) == [4, 4]
    assert reproduce(tmp_path, *words, "3") == 0  # more seeds
    assert trained[4:] == ["venture-rnd-2", "gravitar-rnd-2"]
    assert "already has 4 of 6 runs" in capsys.readouterr().out
    assert reproduce(tmp_path, *words, "3") == 0
    assert len(trained) == 6


def test_an_interrupt_leaves_a_report_of_what_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    train_as(monkeypatch, lambda config: KeyboardInterrupt() if config.seed else "finished")
    words = ("--games", "venture", "--methods", "rnd", "--seeds", "2")
    assert reproduce(tmp_path, *words) == 130
    assert "report.html shows the results so far; the same command continues" in capsys.readouterr().err
    assert counts_of_runs((tmp_path / "report.html").read_text()) == [2, 1, 1, 0]

    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "train", stopped)
    assert reproduce(tmp_path / "new", *words) == 130
    assert "runs are kept in" in capsys.readouterr().err
    assert not (tmp_path / "new" / "report.html").exists()


@pytest.mark.parametrize("error", [UserError("no space left"), EnvironmentsLost("out of quarters"), MemoryError()])
def test_a_run_that_fails_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    train_as(monkeypatch, lambda config: "finished" if config.seed else error)
    console = Console(file=io.StringIO())
    with pytest.raises(UserError, match="could not train venture-rnd-0, as said above: the same command tries again"):
        runner.reproduce(STUDY, TWO, tmp_path, Wanted(), console)
    assert "venture-rnd-0 could not be trained: " in console.file.getvalue()  # type: ignore[attr-defined]
    assert counts_of_runs((tmp_path / "report.html").read_text()) == [2, 1, 1, 0]


def test_an_error_of_ours_is_raised_after_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = ValueError("a bug")
    train_as(monkeypatch, lambda config: error if config.seed else "finished")
    with pytest.raises(ValueError, match="a bug"):
        runner.reproduce(STUDY, TWO, tmp_path, Wanted(), Console(quiet=True))
    assert (tmp_path / "report.html").exists()


def test_a_run_that_another_process_trains_is_left_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train_as(monkeypatch, lambda config: "finished" if config.seed else FolderBusy("it is being written"))
    runner.reproduce(STUDY, TWO, tmp_path, Wanted(train_only=True), Console(quiet=True))
    assert unfinished(tmp_path, {name: config for name, config in TWO.plan().items() if config.seed}) == []
    assert not (tmp_path / "summary.json").exists()


def test_a_cluster_trains_what_is_missing(
    tmp_path: Path, trained: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_run(tmp_path, SMALL.run("venture", "rnd", 1), SEVEN)
    cluster = InlineCluster({"venture-rnd-2": "no space left"})
    monkeypatch.setattr(runner, "train_jobs", cluster.train_jobs)
    assert reproduce(tmp_path, "--games", "venture", "--methods", "rnd", "--seeds", "3", "--on", "ray") == 2
    assert "could not train venture-rnd-2, as said above" in capsys.readouterr().err
    assert (trained, cluster.trained, cluster.finished_before) == (["venture-rnd-0"], ["venture-rnd-0"], 1)
    assert counts_of_runs((tmp_path / "report.html").read_text()) == [3, 2, 0, 1]


def test_one_run_is_trained_without_a_report(tmp_path: Path, trained: list[str]) -> None:
    for _ in range(2):  # the second time, it is finished
        assert reproduce(tmp_path, "--only", "venture-rnd-4") == 0
    assert trained == ["venture-rnd-4"]
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    assert reproduce(tmp_path, "--only", "venture-rnd") == 2


def test_other_settings_and_copies_are_refused_before_anything_is_trained(
    tmp_path: Path, trained: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("--games", "venture", "--methods", "rnd", "--seeds", "2")
    make_run(tmp_path / "other", SMALL.run("venture", "rnd", 1), SEVEN)
    strip(make_run(tmp_path / "copy", SMALL.run("venture", "rnd", 0), SEVEN[:1], "interrupted"))
    before = tree(tmp_path)
    assert reproduce(tmp_path / "other", *words, "--channels", "8") == 2
    assert "venture-rnd-1 contains a run with different settings" in capsys.readouterr().err
    assert reproduce(tmp_path / "copy", *words) == 2
    assert "is a copy without checkpoints/" in capsys.readouterr().err
    assert (trained, tree(tmp_path)) == ([], before)


def test_a_copy_without_checkpoints_is_as_finished_as_the_run_was(tmp_path: Path, trained: list[str]) -> None:
    strip(make_run(tmp_path, SMALL.run("venture", "rnd", 0), SEVEN))
    reproduce(tmp_path, "--games", "venture", "--methods", "rnd", "--seeds", "2")
    assert trained == ["venture-rnd-1"]


@pytest.mark.usefixtures("trained")
def test_overwrite_deletes_the_runs_of_the_study_only(tmp_path: Path) -> None:
    out = tmp_path / "out"
    make_run(out, SMALL.run("venture", "rnd", 0), SEVEN)
    other = make_run(out, SMALL.run("venture", "ppo", 0), SEVEN)
    linked = make_run(tmp_path / "other", SMALL.run("solaris", "rnd", 0), SEVEN)
    (out / "runs" / linked.name).symlink_to(linked)
    before = tree(linked)
    reproduce(out, "--overwrite", "--games", "gravitar", "--methods", "rnd", "--seeds", "1")
    assert sorted(path.name for path in (out / "runs").iterdir()) == ["gravitar-rnd-0", other.name]
    assert tree(linked) == before


def test_nothing_is_deleted_through_a_link(tmp_path: Path, trained: list[str]) -> None:
    make_run(tmp_path / "elsewhere", SMALL.run("venture", "rnd", 0), SEVEN)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "runs").symlink_to(tmp_path / "elsewhere" / "runs")
    with pytest.raises(UserError, match="points outside"):
        runner.reproduce(STUDY, TWO, tmp_path / "out", Wanted(overwrite=True), Console(quiet=True))
    assert RunFolder.holds_run(tmp_path / "elsewhere" / "runs" / "venture-rnd-0")
    assert trained == []


def test_a_folder_with_another_result_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    make_run(tmp_path, SMALL.run("venture", "rnd", 0), SEVEN)
    (tmp_path / "summary.json").write_text(json.dumps({"kind": "reproduce grid", "ours": {}, "timings": {}}))
    before = tree(tmp_path)
    for words in ("--report-only", "--overwrite"):
        assert reproduce(tmp_path, words) == 2
        assert "already contains a result of reproduce grid" in capsys.readouterr().err
    assert tree(tmp_path) == before


def test_contradictions_are_refused() -> None:
    on_ray = ClusterConfig(on="ray")
    for wrong in (
        {"report_only": True, "train_only": True},
        {"report_only": True, "overwrite": True},
        {"train_only": True, "overwrite": True},
        {"report_only": True, "cluster": on_ray},
    ):
        with pytest.raises(UserError, match=r"choose one|leave out"):
            Wanted(**wrong)


def test_a_command_of_a_run_has_all_settings_of_its_study(tmp_path: Path) -> None:
    training = AtariTraining(steps=12_288, warmup_rollouts=1, lag=0)
    settings = AtariSettings(("venture", "pitfall"), ("rnd",), 3, 5, 3, training)
    out = tmp_path / "a folder"
    lines = run_commands("reproduce atari", settings, out, ["venture-rnd-5", "pitfall-rnd-6"])
    for line, name in zip(lines, ("venture-rnd-5", "pitfall-rnd-6"), strict=True):
        program, *words = shlex.split(line)
        command = cli.parse(words)
        assert program == "action-balance"
        assert (command.settings, command.out, command.runs.only) == (settings, out, name)  # type: ignore[attr-defined]
    (line,) = run_commands("reproduce atari", AtariSettings(), Path("here"), ["venture-rnd-0"])
    assert line == f"action-balance reproduce atari --out {Path.cwd() / 'here'} --only venture-rnd-0"


@pytest.mark.parametrize(("study", "runs"), [("atari", 90), ("entropy", 3), ("neural", 16), ("bonuses", 68)])
def test_every_study_of_training_runs_lists_them(
    study: str, runs: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("action_balance.studies.bonuses.settings.is_tuned", lambda *_: True)
    assert call("reproduce", study, "--out", str(tmp_path / "out"), "--list-runs") == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len({*lines}) == runs
    assert all(line.startswith(f"action-balance reproduce {study} --out ") and " --only " in line for line in lines)
    assert not (tmp_path / "out").exists()
