"""Counting cells and visits, and when one curve stays above another."""

from dataclasses import replace

import numpy as np
import pytest

from action_balance.envs.grid.maps import open_world
from action_balance.studies.grid import coverage
from action_balance.studies.grid.coverage import Coverage, MethodCoverage
from action_balance.studies.grid.settings import RunSettings

SMALL = RunSettings(runs=2, episodes=5, episode_steps=5, update_every=4, methods=("rnd",))


def test_a_cell_counts_once_it_was_acted_from() -> None:
    trace = np.array([[0, 1, 0, 2], [3, 3, 3, 3]])
    covered = coverage.covered_cells(trace, np.array([1, 2, 3, 4]), cells=4)
    assert covered.tolist() == [[1, 2, 2, 3], [1, 1, 1, 1]]


def test_visits_add_up_until_each_moment() -> None:
    trace = np.array([[0, 1, 0, 2], [3, 3, 0, 3]])
    visits = coverage.visits_until(trace, (1, 4), cells=4)
    assert visits.tolist() == [[1, 0, 0, 1], [3, 1, 1, 3]]


def test_overtaking_is_the_start_of_the_last_stretch_above() -> None:
    steps = np.array([10, 20, 30, 40])
    increase = np.array([[1, -1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 0], [-1, -1, -1, 1]])
    assert coverage.overtaking_steps(increase, steps).tolist() == [30, 10, np.inf, 40]


def _result(random: list[list[int]], rnd: list[list[int]], balanced: list[list[int]]) -> Coverage:
    methods = {
        name: MethodCoverage(np.array(cells), np.zeros((1, 4)))
        for name, cells in (("random", random), ("rnd", rnd), ("action-balance-rnd", balanced))
    }
    return Coverage(open_world(2), np.array([10, 20, 30]), (30,), 4, methods, 0)


def test_increase_is_relative_to_the_mean_of_random() -> None:
    result = _result([[1, 2, 2], [1, 2, 2]], [[1, 1, 4], [1, 1, 2]], [[1, 3, 3], [1, 3, 4]])
    increase = result.increase("rnd")
    assert increase is not None
    assert increase.tolist() == [0, -0.5, 0.5]
    assert result.overtakes("rnd") == 30
    assert result.overtakes("action-balance-rnd") == 20
    ratio = result.times_sooner()
    assert ratio is not None
    assert ratio.value == 1.5


def test_no_ratio_where_a_method_never_overtakes() -> None:
    result = _result([[1, 2, 3], [1, 2, 3]], [[1, 1, 2], [1, 1, 2]], [[1, 3, 4], [1, 3, 4]])
    assert result.overtakes("rnd") is None
    assert result.times_sooner() is None


def test_rate_divides_by_the_cells_that_can_be_covered() -> None:
    result = _result([[1, 2, 2], [1, 2, 4]], [[1, 1, 1]] * 2, [[1, 1, 1]] * 2)
    mean, low, high = result.rate("random")
    assert mean.tolist() == [0.25, 0.5, 0.75]
    # standard deviation of 0.5 and 1 is 0.35355, over sqrt(2) 0.25; t(1; 0.975) = 12.7062
    assert high[2] - mean[2] == pytest.approx(12.7062 * 0.25, rel=1e-4)
    assert low[0] == high[0] == 0.25


def test_study_records_every_ten_steps_and_the_end() -> None:
    result = coverage.run(open_world(3, 5), RunSettings(runs=3, episodes=5, episode_steps=5, update_every=4))
    assert result.steps.tolist() == [10, 20, 25]
    assert result.moments == tuple(range(1, 26))
    for method in result.methods.values():
        assert method.visits.sum(axis=1).tolist() == pytest.approx(
            range(1, 26)
        )  # mean over runs: every step acts from one cell
        assert (np.diff(method.cells, axis=1) >= 0).all()
        assert (method.cells[:, -1] <= 9).all()


def test_heat_maps_are_taken_at_the_papers_moments() -> None:
    result = coverage.run(open_world(3, 5), replace(SMALL, episodes=500))
    assert result.shown_moments == (1000, 2000, 2500)
    assert len(result.moments) == 80  # 1000 and 2000 are 32 and 64 of 80 even parts
    assert result.methods["rnd"].visits.sum(axis=1).tolist() == list(result.moments)
    assert coverage.film_moments(2500, 200_000) == (500, 1000, 1500, 2000, 2500)  # a large world has fewer


def test_the_first_run_is_kept_step_by_step() -> None:
    result = coverage.run(open_world(3, 5), SMALL)
    first = result.methods["rnd"].first
    assert first is not None
    cells = first.pairs // 4
    assert cells[::5].tolist() == [0] * 5  # every episode begins at the start
    assert [len(set(cells[:step].tolist())) for step in (10, 20, 25)] == result.methods["rnd"].cells[0].tolist()
    assert first.advantage[0] > 0  # a cell never seen before is better than nothing
