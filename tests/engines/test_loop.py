"""Training from the command line: real runs, killed and stopped at known moments."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import call

from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.factory import make_trainer
from action_balance.engines.metrics_rows import Progress
from action_balance.packing import unpacked
from action_balance.runs import MetricsLog, RunFolder, read_metrics
from action_balance.runs.trees import to_arrays

SMALL = (
    *("--size", "4", "--envs", "4", "--rollout-steps", "16", "--minibatches", "2", "--epochs", "2"),
    *("--warmup-rollouts", "2", "--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4"),
    *("--steps", "2560", "--checkpoint-every", "5", "--seeds", "2", "--action-coef", "auto"),
)

# The command line. Once update 12 is logged, and before it is in a checkpoint, the process is killed.
KILLED = """
import os, signal, sys
from action_balance.cli import main as cli
from action_balance.runs import MetricsLog

def append(log, rows, *more):
    original(log, rows, *more)
    if rows[0]["update"] == 12:
        os.kill(os.getpid(), signal.SIGKILL)

original, MetricsLog.append = MetricsLog.append, append
cli.main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never interrupted."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    assert call("train", "deep-sea", "--out", str(out), *SMALL) == 0
    return out


def settings(run: Path) -> TrainConfig:
    return TrainConfig.from_dict(RunFolder.open(run).config)


def final_state(out: Path) -> dict[str, np.ndarray]:
    restored = RunFolder.open(out).checkpoints().restore(make_trainer(settings(out)).state_shapes())
    assert restored.update == 40
    return to_arrays(restored.state)


def same_run(one: Path, other: Path) -> None:
    for name in ("metrics.jsonl", "visits.jsonl"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    ours, theirs = final_state(one), final_state(other)
    assert ours.keys() == theirs.keys()
    assert all(np.array_equal(array, theirs[name]) for name, array in ours.items())


def status(run: Path) -> str:
    return str(RunFolder.open(run).manifest["status"])


def signal_after(update: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for a stop as soon as an update is logged."""
    original = MetricsLog.append

    def append(log: MetricsLog, rows: Any, *more: Any) -> None:
        original(log, rows, *more)
        if rows[0]["update"] == update:
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(MetricsLog, "append", append)


def test_a_run_leaves_config_manifest_metrics_and_checkpoints(whole: Path) -> None:
    rows = read_metrics(whole)
    assert [(row["update"], row["seed"], row["steps"]) for row in rows[:3]] == [(1, 0, 64), (1, 1, 64), (2, 0, 128)]
    assert len(rows) == 2 * 40
    assert sum(rows[0]["action_frequency"]) == pytest.approx(1)
    assert status(whole) == "finished"
    assert {"00000030", "00000035", "00000040"} <= {path.name for path in (whole / "checkpoints").iterdir()}
    assert RunFolder.open(whole).manifest["env_spec"]["shape"] == [16]
    assert [row["update"] for row in read_metrics(whole, "timing.jsonl")] == list(range(1, 41))


def test_visits_of_all_pairs_are_logged_during_the_run(whole: Path) -> None:
    rows = read_metrics(whole, "visits.jsonl")
    assert [row["update"] for row in rows] == list(range(1, 41))  # every update, as there are fewer than 60
    assert [int(unpacked(row).sum()) for row in rows[:3]] == [2 * 64, 4 * 64, 6 * 64]  # two seeds
    assert len(unpacked(rows[-1])) == 4 * 4 * 2


def test_a_killed_and_resumed_run_ends_like_one_never_killed(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    command = [sys.executable, "-c", KILLED, "train", "deep-sea", "--out", str(out), *SMALL]
    killed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert RunFolder.open(out).checkpoints().updates()[-1] == 10
    assert call("resume", str(out)) == 0
    same_run(out, whole)


def test_a_stop_keeps_the_update_and_names_the_command_that_resumes(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "stopped"
    with monkeypatch.context() as patch:
        signal_after(3, patch)
        assert call("train", "deep-sea", "--out", str(out), *SMALL) == 130
    assert f"action-balance resume {out}" in capsys.readouterr().err
    assert RunFolder.open(out).checkpoints().updates() == [3]
    assert status(out) == "interrupted"
    assert call("resume", str(out)) == 0
    same_run(out, whole)


def test_a_stop_before_the_first_update_can_be_resumed(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, create = tmp_path / "early", RunFolder.create

    def created(*arguments: Any) -> RunFolder:
        made = create(*arguments)
        os.kill(os.getpid(), signal.SIGTERM)
        return made

    with monkeypatch.context() as patch:
        patch.setattr(RunFolder, "create", created)
        assert call("train", "deep-sea", "--out", str(out), *SMALL) == 130
    error = capsys.readouterr().err
    assert f"update 0 of 40 is kept; resume with: action-balance resume {out}" in error
    assert status(out) == "interrupted"
    assert call("resume", str(out)) == 0
    same_run(out, whole)


def test_a_stop_in_the_last_update_is_passed_on(whole: Path, tmp_path: Path) -> None:
    def ask(progress: Progress) -> None:
        if progress.update == 40:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="had just finished"):
        loop.begin(tmp_path / "out", settings(whole), ["test"], ask)
    assert status(tmp_path / "out") == "finished"


def test_resuming_a_finished_run_changes_nothing(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (whole / "manifest.json").read_bytes()
    assert call("resume", str(whole)) == 0
    assert "is finished" in capsys.readouterr().out
    assert (whole / "manifest.json").read_bytes() == before


def test_an_update_that_is_not_finite_stops_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "deep-sea", "--out", str(tmp_path / "out"), *SMALL, "--learning-rate", "1e30") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "not finite" in error
    assert "--learning-rate" in error
    assert status(tmp_path / "out") == "failed"


def test_a_finished_run_is_not_overwritten_silently(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (whole / "metrics.jsonl").read_bytes()
    assert call("train", "deep-sea", "--out", str(whole), *SMALL) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert (whole / "metrics.jsonl").read_bytes() == before


def test_a_run_with_the_config_of_another_is_the_same_run(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "again"
    assert call("train", "--config", str(whole / "config.json"), "--out", str(out)) == 0
    assert json.loads((out / "config.json").read_text()) == json.loads((whole / "config.json").read_text())
    same_run(out, whole)


def test_a_run_whose_config_was_changed_is_not_resumed(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "changed"
    shutil.copytree(whole, out)
    config = json.loads((out / "config.json").read_text())
    config["config"]["agent"]["ppo"]["learning_rate"] = 0.5
    (out / "config.json").write_text(json.dumps(config))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert call("resume", str(out)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "was changed since the run began" in error
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_an_environment_that_has_changed_is_not_resumed(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "other"
    shutil.copytree(whole, out)
    manifest = json.loads((out / "manifest.json").read_text())
    manifest["status"], manifest["env_spec"]["nvec"] = "interrupted", [3]
    (out / "manifest.json").write_text(json.dumps(manifest))
    assert call("resume", str(out)) == 2
    assert "deep-sea has changed" in capsys.readouterr().err
