"""What the methods cover, and when one curve stays above another."""

from dataclasses import replace

import numpy as np
import pytest

from action_balance.envs.grid.maps import open_world
from action_balance.studies.grid import coverage
from action_balance.studies.grid.coverage import Coverage
from action_balance.studies.grid.film import Walks
from action_balance.studies.grid.settings import RunSettings

SMALL = RunSettings(runs=2, episodes=5, episode_steps=5, update_every=4, methods=("rnd",))


def test_overtaking_is_the_start_of_the_last_stretch_above() -> None:
    steps = np.array([10, 20, 30, 40])
    increase = np.array([[1, -1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 0], [-1, -1, -1, 1]])
    assert coverage.overtaking_steps(increase, steps).tolist() == [30, 10, np.inf, 40]


def _result(random: list[list[int]], rnd: list[list[int]], balanced: list[list[int]]) -> Coverage:
    steps, none = np.array([10, 20, 30]), np.zeros((1, 4))
    cells = {"random": random, "rnd": rnd, "action-balance-rnd": balanced}
    methods = {name: Walks(steps, (30,), np.array(runs), none, none) for name, runs in cells.items()}
    return Coverage(open_world(2), steps, (30,), 4, methods)


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
    result = _result([[1, 2, 2], [1, 2, 4]] * 3, [[1, 1, 1]] * 6, [[1, 1, 1]] * 6)
    mean, low, high = result.rate("random")
    assert mean.tolist() == [0.25, 0.5, 0.75]
    # six runs, three at 0.5 and three at 1: their standard deviation over sqrt(6) is 0.111803; t(5; 0.975) = 2.570582
    assert high[2] - mean[2] == pytest.approx(2.570582 * 0.111803, rel=1e-4)
    assert low[0] == high[0] == 0.25


def test_study_records_every_ten_steps_and_the_end() -> None:
    result = coverage.run(open_world(3, 5), RunSettings(runs=3, episodes=5, episode_steps=5, update_every=4))
    assert result.steps.tolist() == [10, 20, 25]
    assert result.moments == tuple(range(1, 26))
    for method in result.methods.values():
        assert method.visits.sum(axis=1).tolist() == pytest.approx(range(1, 26))  # every step acts from one cell
        cells_covered = method.covered.sum(axis=1)[result.steps - 1]
        assert cells_covered.tolist() == pytest.approx(method.cells.mean(axis=0).tolist())  # maps and curves add up
        assert (np.diff(method.cells, axis=1) >= 0).all()
        assert (method.cells[:, -1] <= 9).all()


def test_heat_maps_are_taken_at_the_papers_moments() -> None:
    result = coverage.run(open_world(3, 5), replace(SMALL, episodes=500))
    assert {1000, 2000, 2500} <= {*result.moments}
    assert len(result.moments) == 80  # 1000 and 2000 are 32 and 64 of 80 even parts
    assert result.methods["rnd"].visits.sum(axis=1).tolist() == list(result.moments)


def test_the_first_run_is_kept_step_by_step() -> None:
    result = coverage.run(open_world(3, 5), SMALL)
    first = result.methods["rnd"].first
    assert first is not None
    cells = first.pairs // 4
    assert cells[::5].tolist() == [0] * 5  # every episode begins at the start
    assert [len(set(cells[:step].tolist())) for step in (10, 20, 25)] == result.methods["rnd"].cells[0].tolist()
    assert first.advantage[0] > 0  # a cell never seen before is better than nothing
