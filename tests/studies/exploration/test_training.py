import itertools
from pathlib import Path

import numpy as np
import pytest
from interrupted_cell import check_resuming

from action_balance.studies.exploration.records import Record
from action_balance.studies.exploration.settings import ExplorationSettings
from action_balance.studies.exploration.training import known, means, parts_of, train


def test_every_episode_counts_the_same_whenever_it_ends() -> None:
    """One success in an update of its own and three failures in the next: 1/4, not 1/2."""
    values, episodes = np.array([[1.0, 0.0]], np.float32), np.array([[1, 3]])
    np.testing.assert_allclose(means(values, episodes, [slice(0, 2)]), [[0.25]])


def test_a_part_without_episodes_keeps_the_value_before() -> None:
    values = np.array([[np.nan, 0.5, np.nan, 1.0]], np.float32)
    found = means(values, np.array([[0, 2, 0, 1]]), [slice(i, i + 1) for i in range(4)])
    np.testing.assert_array_equal(np.isnan(found), [[True, False, True, False]])
    np.testing.assert_allclose(known(found), [[0, 0.5, 0.5, 1]])


def test_the_parts_of_a_training_are_all_of_it() -> None:
    assert parts_of(3) == [slice(0, 1), slice(1, 2), slice(2, 3)]
    parts = parts_of(117)
    assert len(parts) == 40
    assert parts[0].start == 0
    assert parts[-1].stop == 117
    assert all(one.stop == two.start for one, two in itertools.pairwise(parts))


def test_a_cell_that_is_interrupted_has_the_record_of_one_that_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = ExplorationSettings(seeds=2, steps=3072).cell("deep-sea-10", "ppo")
    made = check_resuming(tmp_path, cell, Record.load, train, monkeypatch)
    assert made["steps"].tolist() == [1024, 2048, 3072]
    assert made["values"].shape == (2, 3)
    np.testing.assert_array_equal(made["final"], made["values"][:, -1])  # the last tenth is the last update
