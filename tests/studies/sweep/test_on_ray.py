"""A sweep with real Ray: trials in other processes, and the same command again."""

import subprocess
import sys
from pathlib import Path

import pytest
from command import call
from sweeps import write_run

from action_balance.cli.main import parse
from action_balance.cli.sweep import Sweep
from action_balance.runs import ResultFolder, RunFolder
from action_balance.studies.sweep.journal import propose
from action_balance.studies.sweep.trials import Final, Trial

RATE = "algorithm.learning_rate"
#: 18 updates of 32 steps.
WORDS = (
    *("sweep", "deep-sea", "--size", "3", "--method", "rnd", "--steps", "608", "--metric", "episodes"),
    *("--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--hidden", "8", "--bonus-hidden", "8", "--bonus-outputs", "4"),
    *("--set", f"{RATE}=1e-4,1e-2", "--finalists", "1", "--final-seeds", "2"),
)


def write_finals(out: Path) -> None:
    """All runs with fresh seeds that the sweep can need: `tests/cluster` trains such runs with Ray."""
    command = parse(WORDS)
    assert isinstance(command, Sweep)
    plan = command.sweep
    first = propose(plan.space, plan.base.seed, []) or {}
    rates = sorted((1e-4, 1e-2), key=lambda rate: rate != first[RATE])
    for name, values in ("baseline", {}), *((f"trial-{number:04}", {RATE: rates[number]}) for number in range(2)):
        write_run(out / "final" / name, plan.space.apply(plan.fresh, values), [[1.0] * 18] * 2, episodes=3.0)


def test_a_sweep_trains_its_trials_in_other_processes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "sweep"
    write_finals(out)
    command = [sys.executable, "-m", "action_balance", *WORDS, "--out", str(out)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    ours = ResultFolder.read(out).summary["ours"]
    trials = [Trial.from_data(one) for one in ours["trials"]]
    assert {one.values[RATE] for one in trials} == {1e-4, 1e-2}
    assert {one.status for one in trials} <= {"finished", "stopped early"}
    for one in trials:
        run = RunFolder.open(out / "trials" / one.name)
        assert run.config["agent"]["algorithm"]["learning_rate"] == one.values[RATE]
        assert run.manifest["status"] == ("finished" if one.status == "finished" else "interrupted")
        assert run.checkpoints().updates()[-1] == one.updates
    assert [Final.from_data(one).scores for one in ours["finals"]] == [(3.0, 3.0)] * 2
    before = {path: path.stat().st_mtime_ns for path in out.glob("*/*/metrics.jsonl")}
    assert call(*WORDS, "--out", str(out)) == 0
    assert "already has 2 of 2 trials" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in before} == before
