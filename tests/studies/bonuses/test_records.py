from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bonus_records import comparison, record
from kept_runs import keep, pretend

from action_balance.engines.callbacks import Listeners, Update
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies.bonuses.records import BonusRecord, measuring, moments, points
from action_balance.studies.bonuses.settings import BonusesSettings, Condition, Setup
from action_balance.studies.records import read_record, read_records
from action_balance.studies.run_job import train

CONDITION = Condition("deep-sea-10", Setup("rnd", "hash"))
CONFIG = BonusesSettings(seeds=2, steps=3072).config(CONDITION)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = record("deep-sea-10", "rnd", [7, -1], comparisons={"states": comparison([[0.5], [1.0]], [0.0, 1.0])})
    path = keep(tmp_path, made)
    read = BonusRecord.read(path)
    assert (read.world, read.setup, read.config) == (made.world, made.setup, made.config)
    assert (read.solved.tolist(), read.time.tolist()) == ([True, False], [7, 2048])
    assert (read.found.tolist(), read.found_steps.tolist()) == ([True, False], [7, 2048])
    np.testing.assert_array_equal(read.comparisons["states"].ratio, made.comparisons["states"].ratio)
    assert [*read.comparisons] == ["states"]
    assert (path / "record.npz").stat().st_size < 4000


@pytest.mark.parametrize("name", ["area", "states", "steps"])
def test_arrays_that_do_not_belong_together_are_damage(tmp_path: Path, name: str) -> None:
    changed: dict[str, Any] = {
        "area": np.zeros(3),
        "states": np.zeros((2, 3), np.int32),
        "steps": np.array(["a", "b"]),
    }
    made = record("deep-sea-10", "rnd", [7, -1])
    path = keep(tmp_path, replace(made, **{name: changed[name]}))
    with pytest.raises(UserError, match=r"record\.npz is damaged: delete"):
        BonusRecord.read(path)
    (path / "record.npz").write_bytes(b"nothing")
    with pytest.raises(UserError, match=r"record\.npz is damaged: delete"):
        BonusRecord.read(path)


def _train(path: Path, stop_after: int = 0) -> None:
    """Train a run, or until it is stopped."""

    def stop(now: Update) -> bool:
        return now.update != stop_after

    train(path, CONFIG, Listeners(["test"], callbacks=[*measuring(path, CONFIG), stop]))


def test_a_run_that_is_interrupted_has_the_record_of_one_that_is_not(tmp_path: Path) -> None:
    whole, parts = (tmp_path / name / CONDITION.name for name in ("whole", "parts"))
    _train(whole)
    _train(parts, stop_after=2)
    assert "greedy" not in read_record(parts)  # it is played in the end
    records, notes = read_records(tmp_path / "nowhere", BonusRecord, lambda *_: True, unfinished=False)
    assert (records, notes) == ([], [])
    _train(parts)
    for path in (whole, parts):
        BonusRecord.keep(path, CONFIG)
        assert {one.name for one in path.iterdir()} == {"config.json", "manifest.json", "record.npz"}
        with pytest.raises(UserError, match="is a copy without checkpoints"):
            RunFolder.open(path).check_resumable()
    ours, theirs = read_record(parts), read_record(whole)
    assert ours.pop("seconds") > 0
    assert theirs.pop("seconds") > 0
    assert {name: one.tobytes() for name, one in ours.items()} == {name: one.tobytes() for name, one in theirs.items()}
    made = BonusRecord.read(parts)
    assert made.steps.tolist() == [1024, 2048, 3072]
    pairs = made.comparisons["pairs"]
    assert pairs.updates.tolist() == [1, 2, 3]
    # Every step of three updates is counted: between half of the visits and all of them, in bins of 1, 2 to 3, ...
    least = (pairs.number * 2 ** np.arange(pairs.number.shape[-1])).sum(axis=-1)
    assert (least <= [1024, 2048, 3072]).all()
    assert (2 * least > [1024, 2048, 3072]).all()
    assert np.isfinite(made.kl).all()
    assert ((made.greedy >= -0.01) & (made.greedy <= 1)).all()  # returns of the deep sea


def test_a_world_is_solved_in_training_and_steps_include_the_warm_up(tmp_path: Path) -> None:
    condition = Condition("doorkey-6", Setup("rnd"))
    config = BonusesSettings(seeds=2, steps=10 * 4096).config(condition)  # the first of 10 rollouts is a warm-up
    returns = np.tile(np.linspace(0.0, 1.0, 9), (2, 1))
    returns[1] /= 2
    first = np.full((2, 9), 5000)
    path = pretend(
        tmp_path, condition.name, config, episodes=np.full((2, 9), 128), episode_return=returns, first_reward=first
    )
    made = BonusRecord.read(path)
    assert made.solved_at.tolist() == [9 * 4096, -1]  # 0.875 is the first of 1/8, 2/8, ... that reaches 0.8
    assert made.area.tolist() == [0.5, 0.25]
    assert made.returns[:, -1].tolist() == [1, 0.5]
    assert made.steps.tolist() == [4096 * update for update in range(2, 11)]
    # Its states are not enumerable, nobody has played, and there is no action bonus.
    assert not made.states.any()
    assert np.isnan(made.greedy).all()
    assert (len(made.kl), len(made.coef)) == (0, 0)


def test_without_a_threshold_nothing_is_solved(tmp_path: Path) -> None:
    config = BonusesSettings(seeds=1, steps=1024).config(Condition("open-40", Setup("none")))
    columns = dict.fromkeys(("episode_return", "states", "first_reward"), np.ones((1, 1)))
    made = BonusRecord.read(pretend(tmp_path, "open-40--none", config, episodes=np.full((1, 1), 100), **columns))
    assert (made.solved_at.tolist(), made.states.tolist()) == ([-1], [[1]])


def test_the_points_of_curves_and_the_moments_of_comparisons_end_with_the_last_update() -> None:
    assert points(117)[[0, -1]].tolist() == [4, 117]
    assert len(points(117)) == 30
    assert moments(117).tolist() == [4, 8, 15, 30, 59, 117]
    assert moments(1).tolist() == points(1).tolist() == [1]
