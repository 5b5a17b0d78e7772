"""``train`` and ``resume`` of an Atari game from the command line: what they report and keep."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from action_balance.algorithms.state import TrainState
from action_balance.cli import main as cli
from action_balance.config.train import TrainConfig
from action_balance.engines.factory import make_trainer
from action_balance.engines.host.trainer import HostTrainer
from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.tree_file import to_arrays

LEARNING = (
    *("--envs", "4", "--rollout-steps", "8", "--minibatches", "2", "--epochs", "1", "--warmup-rollouts", "1"),
    *("--channels", "2", "--features", "8", "--trunk", "8", "--bonus-features", "8", "--threads", "1"),
    *("--steps", "128", "--checkpoint-every", "1", "--lag", "1", "--method", "action-balance-rnd-channel"),
)


def test_a_game_is_learned_and_one_that_is_resumed_reports_that_its_emulators_began_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    cli.main(["train", "atari:pitfall", "--out", str(out), *LEARNING])
    lines = [line for line in capsys.readouterr().out.splitlines() if "return -, best -" in line]
    assert lines  # no game has ended
    assert not any("states" in line for line in lines)

    folder = RunFolder.open(out)
    folder.finish("interrupted")
    for checkpoint in folder.checkpoints().after(1):
        shutil.rmtree(checkpoint)
    cli.main(["resume", str(out)])
    assert HostTrainer.resume_note in capsys.readouterr().out.splitlines()
    folder = RunFolder.open(out)
    assert HostTrainer.resume_note in folder.manifest["starts"][-1]["warnings"]
    assert folder.manifest["status"] == "finished"
    assert folder.checkpoints().updates() == [1, 2, 3]
    rows = read_metrics(out)
    # The warm-up is a rollout of 32 steps.
    assert [(row["update"], row["steps"]) for row in rows] == [(1, 64), (2, 96), (3, 128)]
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
