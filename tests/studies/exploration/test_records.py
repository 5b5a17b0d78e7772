import itertools
from pathlib import Path

import numpy as np

from action_balance.runs import RunFolder
from action_balance.studies.exploration.records import TaskRecord, known, means, parts_of
from action_balance.studies.exploration.settings import Condition, ExplorationSettings


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
    assert (parts[0].start, parts[-1].stop) == (0, 117)
    assert all(one.stop == two.start for one, two in itertools.pairwise(parts))


def test_a_record_is_made_from_the_metrics_of_all_seeds(tmp_path: Path) -> None:
    condition = Condition("deep-sea-10", "ppo")
    config = ExplorationSettings(seeds=2, steps=3072).config(condition)
    folder = RunFolder.create(tmp_path / "runs" / condition.name, config.to_dict(), ["test"])
    log = folder.metrics()
    for update, returns in enumerate([[0.0, 1.0], [0.5, 0.0], [0.25, 1.0]], start=1):
        rows = [
            {"update": update, "seed": seed, "steps": 1024 * update, "episode_return": one, "episodes": 4}
            for seed, one in enumerate(returns)
        ]
        log.append(rows, {"steps_per_second": 2048 / update})
    folder.finish("finished")
    made = TaskRecord.read(folder.path)
    np.testing.assert_allclose(made.curve, [[0.0, 0.5, 0.25], [1.0, 0.0, 1.0]])
    np.testing.assert_allclose(made.scores, [0.25, 1.0])  # the last tenth is the last update
    assert made.steps.tolist() == [1024, 2048, 3072]
    assert made.seconds == 5  # 2 and 3 seconds: twice their median; the first update is compiled
    assert made.processes == 1
    (folder.path.parent / "other").mkdir()
    (folder.path.parent / "other" / ".lock").touch()
    assert TaskRecord.read(folder.path).processes == 2
