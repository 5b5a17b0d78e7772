"""``train`` and ``resume`` of an Atari game from the command line: what they tell and keep."""

import json
import math
import shutil
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from action_balance.agent.state import TrainState
from action_balance.cli import main as cli
from action_balance.cli.train_screen import shown
from action_balance.config.agent import Config
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.engines.loop import BEGIN_ANEW, trainer
from action_balance.engines.metrics_rows import Progress
from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.leaves import to_arrays

SMALL = (
    *("--envs", "2", "--rollout-steps", "4", "--minibatches", "1", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--channels", "2", "--features", "8", "--trunk", "8", "--bonus-features", "8", "--threads", "1"),
    *("--steps", "24", "--checkpoint-every", "1", "--method", "random"),  # which compiles soonest
)


def test_a_game_tells_its_best_return_where_a_world_tells_its_states() -> None:
    agent = Config(steps=2048)
    screen = StringIO()
    with shown(Console(file=screen, width=200), TrainConfig(env_config("atari:pitfall"), agent)) as tell:
        tell(Progress(1, 1024, 50.0, 400.0, 0.0, 0.5))
        tell(Progress(2, 2048, math.nan, math.nan, 0.0, 0.25))
    (line,) = screen.getvalue().splitlines()
    assert line.startswith("update 2 of 2: 2,048 steps, ")
    assert line.endswith("/s, return -, best 400, bonus 0.25")
    screen = StringIO()
    with shown(Console(file=screen, width=200), TrainConfig(env_config("open"), agent)) as tell:
        tell(Progress(2, 2048, 1.0, 1.0, 7.0, 0.25))
    assert screen.getvalue() == "update 2 of 2: 2,048 steps, return 1, states 7, bonus 0.25\n"


def test_a_resumed_game_says_that_its_emulators_began_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run"
    cli.main(["train", "atari:pitfall", "--out", str(out), *SMALL])
    line = capsys.readouterr().out.splitlines()[0]
    assert "return -, best -, bonus" in line
    assert "states" not in line
    assert json.loads((out / "config.json").read_text())["config"]["agent"]["host"]["lag"] == 0

    manifest = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps({**manifest, "status": "interrupted"}))
    shutil.rmtree(out / "checkpoints" / "00000003")
    cli.main(["resume", str(out)])
    assert BEGIN_ANEW in capsys.readouterr().out.splitlines()
    found = json.loads((out / "manifest.json").read_text())
    assert found["starts"][-1]["warnings"] == [BEGIN_ANEW]
    assert [row["update"] for row in read_metrics(out)] == [1, 2, 3]


# The command line. Once the second update is logged, and before it is in a checkpoint, the process is killed.
KILLED = """
import os, signal, sys
from action_balance import cli
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

    run = trainer(TrainConfig.from_dict(folder.config))
    first = run.begin()
    run.close()
    last: TrainState = folder.checkpoints().restore(run.shapes()).state
    assert int(last.updates[0]) == 3
    assert float(last.observations.count[0]) == (1 + 3) * 8 * 4  # the warm-up, and every rollout once
    # All layers have moved, and those that are never trained have not.
    moved = [np.abs(b - a).max() for a, b in zip(to_arrays(first.params), to_arrays(last.params), strict=True)]
    assert min(moved) > 0
    for before, after in zip(to_arrays(first.target_params), to_arrays(last.target_params), strict=True):
        np.testing.assert_array_equal(before, after)
