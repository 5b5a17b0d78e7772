"""A run that is killed at any moment and resumed ends as one that was never killed; only one process writes."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import jax
import killed_run
import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from action_balance.errors import UserError
from action_balance.runs import Checkpoints, RunFolder, read_metrics

UPDATES = 15

#: Operations on files before which the run is killed, one start after the other.
KILLS = (
    ("open timing.jsonl", 2),  # between the files of an update, before there is a checkpoint
    ("rename .manifest.json", 1),  # while it is being resumed
    ("open checkpoints/.partial-00000003/arrays.npz", 1),
    ("open checkpoints/.partial-00000003/checkpoint.json", 1),
    ("rename checkpoints/.partial-00000006", 1),  # complete, but not yet under its name
    ("open tensorboard/seed-1", 5),
    ("rename checkpoints/00000003", 1),  # while it is being deleted, because there are newer ones
)


def _run(path: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-W", "error", killed_run.__file__, str(path), str(UPDATES), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_run_killed_again_and_again_and_resumed_equals_one_never_killed(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    done = _run(whole)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for operation, count in KILLS:
        assert _run(killed, operation, str(count)).returncode == -signal.SIGKILL
    done = _run(killed)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")

    assert (killed / "metrics.jsonl").read_bytes() == (whole / "metrics.jsonl").read_bytes()
    assert len(read_metrics(whole)) == 2 * UPDATES
    assert [row["update"] for row in read_metrics(killed, "timing.jsonl")] == list(range(1, UPDATES + 1))
    first, second = (Checkpoints(path / "checkpoints").restore(killed_run.initial_state()) for path in (whole, killed))
    assert first.update == second.update == UPDATES
    assert first.state["weights"].tobytes() == second.state["weights"].tobytes()
    assert (jax.random.key_data(first.state["key"]) == jax.random.key_data(second.state["key"])).all()
    assert first.state["seen"] == second.state["seen"] == 10 * UPDATES
    assert Checkpoints(killed / "checkpoints").updates() == Checkpoints(whole / "checkpoints").updates()

    manifest = json.loads((killed / "manifest.json").read_text())
    assert (manifest["status"], manifest["resumes"]) == ("finished", len(KILLS) - 1)  # one never began

    # Rows that were written and made again are the same, and are still there.
    moved = [row for folder in (killed / "aside").iterdir() for row in read_metrics(folder)]
    assert moved
    assert all(row in read_metrics(whole) for row in moved)

    events = EventAccumulator(str(killed / "tensorboard" / "seed-1")).Reload()
    scalars = [(scalar.step, scalar.value) for scalar in events.Scalars("mean")]
    expected = [(row["steps"], np.float32(row["mean"])) for row in read_metrics(whole) if row["seed"] == 1]
    assert scalars == expected


def test_a_run_that_is_being_written_is_not_resumed_or_overwritten(tmp_path: Path) -> None:
    script = "import sys; from pathlib import Path; from action_balance.runs import RunFolder\n"
    script += "folder = RunFolder.create(Path(sys.argv[1]), {}, []); print('begun', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", script, str(tmp_path / "run")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "begun\n"
        with pytest.raises(UserError, match="another process"):
            RunFolder.open(tmp_path / "run").resume(None, ["resume"])
        with pytest.raises(UserError, match="another process"):
            RunFolder.create(tmp_path / "run", {}, ["train"], overwrite=True)
        writer.kill()
    RunFolder.open(tmp_path / "run").resume(None, ["resume"])
