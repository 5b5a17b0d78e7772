"""A run that is killed at any moment and resumed ends as one that was never killed; only one process writes."""

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import jax
import killed_run
import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from action_balance.errors import UserError
from action_balance.runs import Checkpoints, RunFolder, read_metrics

UPDATES = 45


def _start(path: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-W", "error", killed_run.__file__, str(path), str(UPDATES)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _wait_for_start(process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line == "started\n":
            return
    raise AssertionError(process.communicate()[1])


def test_a_run_killed_at_random_moments_and_resumed_equals_one_never_killed(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    output, errors = _start(whole).communicate()
    assert (output, errors) == ("started\n", "")

    moments = random.Random(0)
    kills = 0
    for _ in range(5):
        process = _start(killed)
        _wait_for_start(process)
        time.sleep(moments.uniform(0.05, 0.35))
        process.kill()
        process.communicate()
        kills += process.returncode == -9
    assert kills >= 3
    output, errors = _start(killed).communicate()
    assert (output, errors) == ("started\n", "")

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
    assert (manifest["status"], manifest["resumes"], len(manifest["starts"])) == ("finished", 5, 6)

    events = EventAccumulator(str(killed / "tensorboard" / "seed-1")).Reload()
    scalars = [(scalar.step, scalar.value) for scalar in events.Scalars("mean")]
    expected = [(row["steps"], np.float32(row["mean"])) for row in read_metrics(whole) if row["seed"] == 1]
    assert scalars == expected


def test_a_run_that_is_being_written_is_not_resumed_or_overwritten(tmp_path: Path) -> None:
    process = _start(tmp_path / "run")
    try:
        _wait_for_start(process)
        with pytest.raises(UserError, match="another process"):
            RunFolder.open(tmp_path / "run").resume(killed_run.initial_state(), ["resume"])
        with pytest.raises(UserError, match="another process"):
            RunFolder.create(tmp_path / "run", {}, ["train"], overwrite=True)
    finally:
        process.kill()
        process.communicate()
    RunFolder.open(tmp_path / "run").resume(killed_run.initial_state(), ["resume"])
