"""Scores of a training that is under way."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from sweeps import BASE, write_run

from action_balance.errors import UserError
from action_balance.studies.sweep.scores import measure, seed_scores

RETURN = "episode_return"


def test_the_score_of_a_seed_is_the_mean_of_the_last_tenth_of_its_updates(tmp_path: Path) -> None:
    write_run(tmp_path, BASE, [[float(update) for update in range(18)], [4.0] * 18])
    scores, updates = seed_scores(tmp_path, BASE, RETURN)
    assert (scores.tolist(), updates) == ([17.0, 4.0], 18)  # a tenth of 18 updates is one
    found = measure(tmp_path, BASE, RETURN)
    assert (found.score, found.updates) == (10.5, 18)
    assert found.seconds == pytest.approx(18 * 2 * 1000 / 500)


def test_updates_in_which_no_episode_ended_keep_the_return_before(tmp_path: Path) -> None:
    write_run(tmp_path, BASE, [[1.0, math.nan], [math.nan, math.nan]], "interrupted")
    assert seed_scores(tmp_path, BASE, RETURN)[0][0] == 1.0
    assert math.isnan(measure(tmp_path, BASE, RETURN).score)  # the second seed has none


def test_a_run_without_rows_has_no_score(tmp_path: Path) -> None:
    found = measure(tmp_path, BASE, RETURN)
    assert (math.isnan(found.score), found.updates, found.seconds) == (True, 0, 0.0)


def test_a_metric_that_the_run_does_not_have_is_an_error(tmp_path: Path) -> None:
    write_run(tmp_path, BASE, [[1.0], [3.0]])
    with pytest.raises(UserError, match="unknown metric 'episode_retur'"):
        measure(tmp_path, BASE, "episode_retur")
    with pytest.raises(UserError, match="more than one value"):
        measure(tmp_path, BASE, "occupied")


def test_rows_of_other_seeds_are_ignored(tmp_path: Path) -> None:
    write_run(tmp_path, BASE, [[1.0], [3.0]])
    assert seed_scores(tmp_path, replace(BASE, seed=4, seeds=1), RETURN)[0].tolist() == [3.0]
