"""``train`` and ``resume`` of an Atari game from the command line: what they report and keep."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from action_balance.agent.state import TrainState
from action_balance.cli import main as cli
from action_balance.config.train import TrainConfig
from action_balance.engines.factory import make_trainer
from action_balance.engines.host.trainer import HostTrainer
from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.trees import to_arrays

SMALL = (
    *("--envs", "2", "--rollout-steps", "4", "--minibatches", "1", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--channels", "2", "--features", "8", "--trunk", "8", "--threads", "1"),
    *("--steps", "24", "--checkpoint-every", "1", "--method", "random"),  # which compiles soonest
)


def test_a_resumed_game_says_that_its_emulators_began_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    cli.main(["train", "atari:pitfall", "--out", str(out), *SMALL])
    line = capsys.readouterr().out.splitlines()[0]
    assert "return -, best -" in line
    assert "states" not in line
    assert json.loads((out / "config.json").read_text())["config"]["agent"]["host"]["lag"] == 0

    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    shutil.rmtree(out / "checkpoints" / "00000003")
    cli.main(["resume", str(out)])
    assert HostTrainer.resume_note in capsys.readouterr().out.splitlines()
    found = json.loads((out / "manifest.json").read_text())
    assert HostTrainer.resume_note in found["starts"][-1]["warnings"]
    assert [row["update"] for row in read_metrics(out)] == [1, 2, 3]


# The command line. Once the second update is logged, and before it is in a checkpoint, the process is killed.
KILLED = """
import os, signal, sys
from action_balance.cli import main as cli
from action_balance.runs import MetricsLog

def append(log, rows, *more):
    original(log, rows, *more)
    if rows[0]["update"] == 2:
        os.kill(os.getpid(), signal.SIGKILL)

original, MetricsLog.append = MetricsLog.append, append
cli.main(sys.argv[1:])
"""
LEARNING = (
    *("--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--channels", "2", "--features", "8", "--trunk", "8", "--bonus-features", "8", "--threads", "1"),
    *("--steps", "96", "--checkpoint-every", "1", "--lag", "1", "--method", "action-balance-rnd-channel"),
)


def test_a_killed_game_is_learned_to_its_end(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-c", KILLED, "train", "atari:pitfall", "--out", str(out), *LEARNING]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert [row["update"] for row in read_metrics(out)] == [1, 2]
    assert RunFolder.open(out).checkpoints().updates() == [1]

    cli.main(["resume", str(out)])
    folder = RunFolder.open(out)
    assert folder.manifest["status"] == "finished"
    assert folder.checkpoints().updates() == [1, 2, 3]
    rows = read_metrics(out)
    assert [(row["update"], row["steps"]) for row in rows] == [(1, 32), (2, 64), (3, 96)]
    for row in rows:
        unknown = {name for name, value in row.items() if not np.isfinite(value).all()}
        assert unknown <= {"episode_return", "best_return"}  # no game has ended
        assert row["parameters_finite"]
        assert min(row["bonus_mean"], row["bonus_scale"], row["action_bonus_mean"], row["loss_action"]) > 0
        assert sum(row["action_frequency"]) == pytest.approx(1)

    run = make_trainer(TrainConfig.from_dict(folder.config))
    first = run.init_state()
    run.close()
    last: TrainState = folder.checkpoints().restore(run.state_shapes()).state
    assert int(last.updates[0]) == 3
    assert float(last.obs_stats.count[0]) == (1 + 3) * 8 * 4  # the warm-up, and every rollout once
    # All layers have moved, and those that are never trained have not.
    before, after = to_arrays(first.params), to_arrays(last.params)
    assert min(np.abs(after[name] - before[name]).max() for name in before) > 0
    fixed = to_arrays(last.bonus_states)
    assert fixed
    for name, array in to_arrays(first.bonus_states).items():
        np.testing.assert_array_equal(array, fixed[name])
