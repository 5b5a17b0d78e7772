"""Training from the command line: real runs, killed and stopped at known moments."""

import errno
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
import pytest
import small_agent
from command import call
from jax.errors import JaxRuntimeError

from action_balance.algorithms.ppo.config import PPOConfig
from action_balance.algorithms.state import TrainState
from action_balance.config.agent import AgentConfig
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.callbacks import Listeners, MessageLog
from action_balance.engines.continuation import continuation
from action_balance.engines.factory import make_trainer
from action_balance.engines.metrics_rows import HostMetrics, Progress
from action_balance.envs.host_base import EnvironmentFailed, EnvironmentsLost
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError, WriteError
from action_balance.packing import unpacked
from action_balance.runs import Checkpoints, MetricsLog, RunFolder, read_metrics
from action_balance.runs.owned import OwnedFolder
from action_balance.runs.tree_file import to_arrays

SMALL = (
    *("--size", "4", "--envs", "4", "--rollout-steps", "16", "--minibatches", "2", "--epochs", "2"),
    *("--warmup-rollouts", "2", "--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4"),
    *("--steps", "2688", "--checkpoint-every", "5", "--seeds", "2"),
    *("--method", "action-balance-rnd", "--action-coef", "auto"),
)


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
    assert [(row["update"], row["seed"], row["steps"]) for row in rows[:3]] == [(1, 0, 192), (1, 1, 192), (2, 0, 256)]
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


def test_a_stop_before_the_first_update_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, create = tmp_path / "early", RunFolder.create

    def created(*arguments: Any) -> RunFolder:
        made = create(*arguments)
        os.kill(os.getpid(), signal.SIGTERM)
        return made

    monkeypatch.setattr(RunFolder, "create", created)
    assert call("train", "deep-sea", "--out", str(out), *SMALL) == 130
    assert "nothing was saved" in capsys.readouterr().err
    assert not out.exists()


def test_a_stop_in_the_last_update_is_passed_on(whole: Path, tmp_path: Path) -> None:
    def ask(progress: Progress) -> None:
        if progress.update == 40:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match="had just finished"):
        loop.begin(tmp_path / "out", settings(whole), Listeners(report=ask))
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
    assert "became NaN or infinite" in error
    assert "--learning-rate" in error
    assert not (tmp_path / "out").exists()  # it was the first update


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
    config["config"]["agent"]["algorithm"]["learning_rate"] = 0.5
    (out / "config.json").write_text(json.dumps(config))
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert call("resume", str(out)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "was changed after the run started" in error
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


class Scripted:
    """A trainer that computes nothing: it counts updates, and raises an error in one of them."""

    spec = EnvSpec("vector", (1,), (2,))
    resume_note = ""

    def __init__(self, fails_at: int = 0, error: BaseException | None = None) -> None:
        self.fails_at, self.error, self.updates = fails_at, error, 0

    def state_shapes(self) -> TrainState:
        return self.state()

    def init_state(self, stopped: Callable[[], bool]) -> TrainState:
        assert not stopped()
        return self.state()

    def start(self, states: TrainState) -> None:
        self.updates = int(states.updates[0])

    def advance(self) -> HostMetrics:
        if self.updates + 1 == self.fails_at and self.error is not None:
            raise self.error
        self.updates += 1
        return {
            "episode_return": np.array([1.0]),
            "best_return": np.array([2.0]),
            "parameters_finite": np.array([True]),
        }

    def state(self) -> TrainState:
        shapes = jax.eval_shape(small_agent.begun.__wrapped__)  # tracers must not stay in its cache
        nothing = jax.tree.map(lambda _: None, shapes)
        updates = np.array([self.updates], np.int32)
        found: TrainState = eqx.tree_at(
            lambda state: state.updates, nothing, updates, is_leaf=lambda leaf: leaf is None
        )
        return found

    def visits(self) -> None:
        return None

    def close(self) -> None:
        return None


#: Four updates, with a checkpoint of the second and of the fourth.
FOUR = TrainConfig(
    env_config("deep-sea", size=4),
    AgentConfig(steps=32, envs=4, algorithm=PPOConfig(rollout_steps=2, minibatches=1)),
    checkpoint_every=2,
)
FULL = OSError(errno.ENOSPC, "No space left on device")


def begin(out: Path, trainer: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "make_trainer", lambda *_: trainer)
    loop.begin(out, FOUR, Listeners())


def resume(out: Path, trainer: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "make_trainer", lambda *_: trainer)
    loop.resume(continuation(RunFolder.open(out), FOUR), Listeners())


FAILURES = [
    (MemoryError(), "not enough memory"),
    (
        JaxRuntimeError("INTERNAL: Error dispatching computation: Out of memory allocating 7 bytes."),
        "not enough memory",
    ),
    (EnvironmentFailed("it failed"), "it failed"),
    (EnvironmentsLost("it was lost"), "it was lost"),
]


@pytest.mark.parametrize(("error", "why"), FAILURES)
def test_a_folder_in_which_nothing_was_trained_is_removed(
    error: Exception, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with pytest.raises(UserError, match=f"{why}.*nothing was saved"):
        begin(out, Scripted(1, error), monkeypatch)
    assert not out.exists()
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="nothing was saved"):
        begin(out, Scripted(1, error), monkeypatch)
    assert [path.name for path in out.iterdir()] == ["notes.txt"]


@pytest.mark.parametrize(("error", "why"), FAILURES)
def test_a_failure_after_an_update_keeps_it_and_says_how_to_resume(
    error: Exception, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with pytest.raises(UserError, match=f"{why}.*update 2 of 4 is saved; resume with: action-balance resume {out}"):
        begin(out, Scripted(3, error), monkeypatch)
    assert status(out) == "failed"
    assert [row["update"] for row in read_metrics(out)] == [1, 2]
    resume(out, Scripted(), monkeypatch)
    assert status(out) == "finished"
    assert [row["update"] for row in read_metrics(out)] == [1, 2, 3, 4]


def test_rows_are_on_the_disk_before_the_checkpoint_of_their_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[list[int]] = []
    save = Checkpoints.save
    monkeypatch.setattr(
        MetricsLog, "sync", lambda log: synced.append([row["update"] for row in read_metrics(log.path)])
    )

    def save_after(checkpoints: Checkpoints, update: int, *more: Any) -> None:
        assert synced[-1][-1] == update
        save(checkpoints, update, *more)

    monkeypatch.setattr(Checkpoints, "save", save_after)
    with pytest.raises(UserError):
        begin(tmp_path, Scripted(4, EnvironmentFailed("it failed")), monkeypatch)
    assert synced == [[1, 2], [1, 2, 3]]


def test_a_run_that_was_killed_before_its_first_update_is_begun_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    RunFolder.create(out, FOUR.to_dict(), ["test"]).release()
    begin(out, Scripted(), monkeypatch)
    assert status(out) == "finished"


def test_a_run_that_was_begun_by_another_process_is_never_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    RunFolder.create(out, FOUR.to_dict(), ["test"]).finish("interrupted")
    with pytest.raises(UserError, match="no checkpoint has been written yet; resume with"):
        resume(out, Scripted(1, MemoryError()), monkeypatch)
    assert status(out) == "failed"


def test_a_full_disk_names_the_first_file_and_how_to_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, original, full = tmp_path / "out", MetricsLog.append, []

    def append(log: MetricsLog, rows: Any, *more: Any) -> None:
        if rows[0]["update"] == 3:
            full.append(True)
            raise WriteError("cannot write metrics.jsonl: No space left on device", FULL)
        original(log, rows, *more)

    def write(folder: RunFolder, name: str, content: Any) -> None:
        if full:
            raise WriteError(f"cannot write {name}: a consequence", FULL)
        OwnedFolder.write(folder, name, content)

    with monkeypatch.context() as patch:
        patch.setattr(MetricsLog, "append", append)
        patch.setattr(RunFolder, "write", write)
        with pytest.raises(UserError) as caught:
            begin(out, Scripted(), patch)
    first = "cannot write metrics.jsonl: No space left on device"
    assert str(caught.value) == f"{first}; free some space, then resume with: action-balance resume {out}"
    resume(out, Scripted(), monkeypatch)
    assert [row["update"] for row in read_metrics(out)] == [1, 2, 3, 4]


def test_a_disk_that_is_full_before_the_first_update_keeps_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def append(*_: Any) -> None:
        raise WriteError("cannot write metrics.jsonl: No space left on device", FULL)

    monkeypatch.setattr(MetricsLog, "append", append)
    with pytest.raises(UserError, match="free some space, then run the same command again"):
        begin(tmp_path / "out", Scripted(), monkeypatch)
    assert not (tmp_path / "out").exists()


def test_lines_are_shown_at_once_and_written_once(tmp_path: Path) -> None:
    shown: list[str] = []
    folder = RunFolder.create(tmp_path / "run", {}, [])
    log = MessageLog(shown.append)
    log("first")
    log("second")
    assert shown == ["first", "second"]
    assert "warnings" not in RunFolder.open(folder.path).manifest["starts"][0]
    log.write(folder)
    log.write(folder)
    assert RunFolder.open(folder.path).manifest["starts"][0]["warnings"] == ["first", "second"]
    folder.release()
