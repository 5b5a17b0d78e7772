"""Scores of a training that is under way."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from sweeps import BASE, write_run

from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies.sweep.scores import ScoreReader


def reader(path: Path, metric: str = "episode_return") -> ScoreReader:
    found = ScoreReader(path, BASE, metric)
    found.read()
    return found


def test_the_score_of_a_seed_is_the_mean_of_the_last_tenth_of_its_updates(tmp_path: Path) -> None:
    write_run(tmp_path / "a", BASE, [[float(update) for update in range(18)], [4.0] * 18])
    found = reader(tmp_path / "a")
    assert found.seed_scores().tolist() == [17.0, 4.0]  # a tenth of 18 updates is one
    measured = found.measured()
    assert (measured.score, measured.updates, measured.steps) == (10.5, 18, 18_000)
    assert measured.seconds == pytest.approx(18 * 2 * 1000 / 500)


def test_scores_after_parts_use_what_was_known_then(tmp_path: Path) -> None:
    write_run(tmp_path / "a", BASE, [[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], "interrupted")
    assert reader(tmp_path / "a").points() == ((1, 2.0), (2, 3.0), (3, 4.0))


def test_updates_in_which_no_episode_ended_keep_the_return_before(tmp_path: Path) -> None:
    write_run(tmp_path / "a", BASE, [[1.0, math.nan], [math.nan, math.nan]], "interrupted")
    found = reader(tmp_path / "a")
    assert found.seed_scores()[0] == 1.0
    assert math.isnan(found.measured().score)  # the second seed has none


def test_a_run_without_rows_has_no_score(tmp_path: Path) -> None:
    found = reader(tmp_path / "none")
    assert (found.updates, found.points()) == (0, ())
    assert math.isnan(found.measured().score)


def test_only_what_is_new_is_read(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a", BASE, [[1.0], [3.0]], "interrupted")
    found = reader(path)
    log = RunFolder.open(path).metrics()
    log.append([{"update": 2, "seed": 3 + place, "steps": 2000, "episode_return": 8.0} for place in range(2)])
    assert found.measured().score == 2.0
    found.read()
    assert (found.measured().score, found.updates) == (8.0, 2)


def test_a_metric_that_the_run_does_not_have_is_an_error(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a", BASE, [[1.0], [3.0]])
    with pytest.raises(UserError, match="unknown metric 'episode_retur'"):
        reader(path, "episode_retur")
    with pytest.raises(UserError, match="more than one value"):
        reader(path, "occupied")


def test_rows_of_other_seeds_are_ignored(tmp_path: Path) -> None:
    path = write_run(tmp_path / "a", BASE, [[1.0], [3.0]])
    found = ScoreReader(path, replace(BASE, seed=4, seeds=1), "episode_return")
    found.read()
    assert found.seed_scores().tolist() == [3.0]
