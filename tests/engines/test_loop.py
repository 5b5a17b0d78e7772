"""Training from the command line: real runs, real kills."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from action_balance.envs.registry import EnvConfig
from command import call

from action_balance.agent import learner as train
from action_balance.cli import main as cli
from action_balance.config.agent import Config
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.loop import Trainer
from action_balance.engines.metrics_rows import Progress, check_finite
from action_balance.envs.grid.environment import GridEnvironment
from action_balance.envs.grid.maps import open_world
from action_balance.errors import UserError
from action_balance.packing import unpacked
from action_balance.runs import RunFolder, read_metrics

SMALL = (
    *("--size", "4", "--envs", "4", "--rollout-steps", "16", "--minibatches", "2", "--epochs", "2"),
    *("--warmup-rollouts", "2", "--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4"),
    *("--steps", "2560", "--checkpoint-every", "5", "--seeds", "2"),
)
COMMAND = [sys.executable, "-m", "action_balance"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was never interrupted."""
    out = tmp_path_factory.mktemp("runs") / "whole"
    assert call("train", "deep-sea", "--out", str(out), *SMALL) == 0
    return out


def start(out: Path, *more: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    command = [*COMMAND, "train", "deep-sea", "--out", str(out), *SMALL, *more]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def wait_for_updates(out: Path, updates: int) -> None:
    """Until so many updates are logged."""
    for _ in range(1200):
        log = out / "metrics.jsonl"
        if log.exists() and log.read_bytes().count(b"\n") >= 2 * updates:
            return
        time.sleep(0.05)
    raise AssertionError("the run did not get that far")


def final_state(out: Path) -> list[np.ndarray]:
    folder = RunFolder.open(out)
    trainer = Trainer(TrainConfig.from_dict(folder.config))
    restored = folder.checkpoints().restore(trainer.shapes())
    assert restored.update == 40
    return [np.asarray(_plain(leaf)) for leaf in jax.tree.leaves(restored.state)]


def _plain(leaf: jax.Array) -> jax.Array:
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def same_run(one: Path, other: Path) -> None:
    for name in ("metrics.jsonl", "visits.jsonl"):
        assert (one / name).read_bytes() == (other / name).read_bytes()
    assert all(np.array_equal(a, b) for a, b in zip(final_state(one), final_state(other), strict=True))


def test_a_run_leaves_config_manifest_metrics_and_checkpoints(whole: Path) -> None:
    rows = read_metrics(whole)
    assert [(row["update"], row["seed"], row["steps"]) for row in rows[:3]] == [(1, 0, 64), (1, 1, 64), (2, 0, 128)]
    assert len(rows) == 2 * 40
    assert sum(rows[0]["action_frequency"]) == pytest.approx(1)
    assert json.loads((whole / "manifest.json").read_text())["status"] == "finished"
    assert {"00000030", "00000035", "00000040"} <= {path.name for path in (whole / "checkpoints").iterdir()}


def test_visits_of_all_pairs_are_kept_as_the_run_goes_on(whole: Path) -> None:
    rows = read_metrics(whole, "visits.jsonl")
    assert [row["update"] for row in rows] == list(range(1, 41))  # every update, as there are fewer than 60
    assert [int(unpacked(row).sum()) for row in rows[:3]] == [2 * 64, 4 * 64, 6 * 64]  # two seeds
    assert len(unpacked(rows[-1])) == 4 * 4 * 2


def test_a_killed_and_resumed_run_ends_like_one_never_killed(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "killed"
    process = start(out)
    wait_for_updates(out, 12)
    process.kill()
    process.communicate()
    assert call("resume", str(out)) == 0
    same_run(out, whole)


def test_sigterm_keeps_the_update_and_names_the_command_that_goes_on(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "stopped"
    process = start(out, "--steps", "64000000")
    wait_for_updates(out, 3)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"action-balance resume {out}" in error
    assert "Traceback" not in error
    last = read_metrics(out)[-1]["update"]
    assert (out / "checkpoints" / f"{last:08}").exists()
    assert json.loads((out / "manifest.json").read_text())["status"] == "interrupted"
    first = [line.split(b', "steps"')[0] for line in (whole / "metrics.jsonl").read_bytes().splitlines()[:6]]
    assert [line.split(b', "steps"')[0] for line in (out / "metrics.jsonl").read_bytes().splitlines()[:6]] == first


def test_a_stop_before_the_first_update_names_the_command_that_goes_on(tmp_path: Path, whole: Path) -> None:
    out = tmp_path / "early"
    process = start(out)
    while not (out / "manifest.json").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"go on with: action-balance resume {out}" in error
    assert json.loads((out / "manifest.json").read_text())["status"] == "interrupted"
    assert call("resume", str(out)) == 0
    same_run(out, whole)


def test_a_stop_in_the_last_update_is_passed_on(tmp_path: Path) -> None:
    def ask(progress: Progress) -> None:
        if progress.update == 40:
            os.kill(os.getpid(), signal.SIGINT)

    config = cli.parse(["train", "deep-sea", *SMALL])
    assert isinstance(config, cli.Train)
    training = TrainConfig(env_config("deep-sea", size=4), config.agent, seeds=2, checkpoint_every=5)
    with pytest.raises(KeyboardInterrupt, match="had just finished"):
        loop.begin(tmp_path / "out", training, ["test"], ask)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["status"] == "finished"


def test_resume_of_a_finished_run_says_so(whole: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (whole / "manifest.json").read_bytes()
    assert call("resume", str(whole)) == 0
    assert "is finished" in capsys.readouterr().out
    assert (whole / "manifest.json").read_bytes() == before


def test_a_later_update_that_is_not_finite_names_term_update_and_checkpoint() -> None:
    healthy = train.Metrics(**{one.name: jnp.ones(2) for one in fields(train.Metrics)})
    check_finite(healthy, 12, [5, 10], 1e-4)
    broken = eqx.tree_at(lambda metrics: metrics.loss_action, healthy, jnp.array([1.0, jnp.nan]))
    with pytest.raises(UserError, match="update 12: loss_action not finite; the last good checkpoint is update 10"):
        check_finite(broken, 12, [5, 10], 1e-4)


def test_an_update_that_is_not_finite_stops_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("train", "deep-sea", "--out", str(tmp_path / "out"), *SMALL, "--learning-rate", "1e30") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "not finite" in error
    assert "--learning-rate" in error
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["status"] == "failed"


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


def test_flags_change_what_a_config_or_preset_says(whole: Path) -> None:
    command = cli.parse(["train", "--config", str(whole), "--seeds", "5", "--clip", "0.3"])
    assert isinstance(command, cli.Train)
    assert (command.env, command.size, command.seeds, command.agent.envs) == ("deep-sea", 4, 5, 4)
    assert (command.agent.ppo.clip, command.agent.ppo.rollout_steps) == (0.3, 16)
    command = cli.parse(["train", "open", "--preset=atari-paper", "--envs", "8"])
    assert isinstance(command, cli.Train)
    assert (command.env, command.agent.envs, command.agent.bonus.share) == ("open", 8, 0.25)
    assert command.agent.ppo.learning_rate == 1e-4


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


class Steering(GridEnvironment):
    """An environment with a continuous action."""

    @property
    def actions(self) -> Any:
        return (-1.0, 1.0)


def test_continuous_actions_are_refused_in_one_line() -> None:
    with pytest.raises(UserError, match="divide a continuous action space"):
        train.begin(Steering(open_world(3)), Config(), jax.random.key(0))


BAD = {
    "an unknown preset": (("train", "open", "--preset", "paper"), "did you mean atari-paper?"),
    "a config that is none": (("train", "--config", "tests"), "is not a run"),
    "a preset and a config": (("train", "--config", "x", "--preset", "atari-paper"), "choose one"),
    "no environment": (("train", "--preset", "atari-paper"), "ENV"),
    "a flag for resume": (("resume", "tests", "--steps", "10"), "--steps"),
    "an unknown environment": (("train", "deep-see"), "did you mean deep-sea?"),
    "an unknown method": (("train", "open", "--method", "rdn"), "did you mean rnd?"),
    "steps below a rollout": (("train", "open", "--steps", "10"), "less than one rollout"),
    "minibatches that do not divide": (("train", "open", "--minibatches", "3"), "do not divide"),
    "zero seeds": (("train", "open", "--seeds", "0"), "must be 1 or more"),
    "an unknown flag": (("train", "open", "--learning-rat", "1"), "--learning-rate"),
    "a view of the deep sea": (("train", "deep-sea", "--view", "coordinates"), "leave out"),
    "a folder that is no run": (("resume", "tests"), "is not a run"),
}


@pytest.mark.parametrize(("arguments", "hint"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line(
    arguments: tuple[str, ...],
    hint: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tests").mkdir()
    assert call(*arguments) == 2
    error = capsys.readouterr().err
    assert hint in error
    assert error.count("\n") == 1
    assert not (tmp_path / "runs").exists()
