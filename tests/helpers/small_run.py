"""Small training runs through the command line: train, lose the second half, resume, evaluate."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from command import call

from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.array_file import read_arrays
from action_balance.runs.checkpoints import ARRAYS

UPDATES, STEPS = 4, 32
SMALL = (
    *("--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--steps", str((1 + UPDATES) * STEPS), "--checkpoint-every", "2"),
)
NET = ("--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4")
IMAGE = ("--channels", "1", "--features", "8", "--trunk", "8", "--bonus-features", "8")


def train(out: Path, *words: str) -> list[dict[str, Any]]:
    """Train a few updates, and return the metrics."""
    assert call("train", *words, *SMALL, "--out", str(out)) == 0
    return read_metrics(out)


def resume(run: Path, *words: str) -> Path:
    """A copy of a run in which the second half was lost and is trained again."""
    copy = run.with_name(f"{run.name}-resumed")
    shutil.copytree(run, copy)
    for checkpoint in RunFolder.open(copy).checkpoints().after(UPDATES // 2):
        shutil.rmtree(checkpoint)
    RunFolder.open(copy).finish("interrupted")
    assert call("resume", str(copy), *words) == 0
    assert RunFolder.open(copy).manifest["status"] == "finished"
    return copy


def evaluate(run: Path, *words: str) -> dict[str, Any]:
    """Play two episodes, and return their numbers."""
    assert call("evaluate", str(run), "--episodes", "2", *words) == 0
    found: dict[str, Any] = json.loads((run / "evaluation" / "evaluation.json").read_bytes())
    return found


def arrays(run: Path, update: int) -> dict[str, np.ndarray]:
    """What a checkpoint holds, by path."""
    return read_arrays(run / "checkpoints" / f"{update:08d}" / ARRAYS)


def assert_same(run: Path, resumed: Path) -> None:
    """Both runs have the same metrics and the same state in the end, bit for bit."""
    assert read_metrics(resumed) == read_metrics(run)
    expected, found = arrays(run, UPDATES), arrays(resumed, UPDATES)
    assert found.keys() == expected.keys()
    for path, array in expected.items():
        np.testing.assert_array_equal(found[path], array, err_msg=path)
