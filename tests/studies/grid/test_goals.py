"""First-reach steps, averages and the comparison with Table I."""

import math

import numpy as np
import pytest

from action_balance.studies.grid import goals
from action_balance.studies.grid.first_reach import FirstReachSteps
from action_balance.studies.grid.goals import Goals
from action_balance.studies.grid.settings import GridSettings


def _reached(*steps: int) -> FirstReachSteps:
    return FirstReachSteps(np.array(steps), np.ones(len(steps), bool))


def test_runs_that_hit_the_limit_count_as_timed_out() -> None:
    found = FirstReachSteps(np.array([3, 100, 5]), np.array([True, False, True]))
    assert (found.timed_out, found.mean.value, found.numbers["median"]) == (1, 36, 5)
    assert found.rows[0] == (0, 3)
    assert math.isnan(found.rows[1][1])


def test_average_is_over_goals_and_its_interval_adds_variances() -> None:
    found = {(0, 1): _reached(1, 3, 2, 2, 2), (1, 0): _reached(5, 7, 6, 6, 6)}
    average = Goals(((0, 1), (1, 0)), {"rnd": found}).average("rnd")
    assert average.value == 4
    half = found[0, 1].mean.high - 2  # the same for both goals
    assert average.high - 4 == pytest.approx((2 * half**2) ** 0.5 / 2)


def test_agreement_is_with_the_cell_of_table_1() -> None:
    steps = np.random.default_rng(0).exponential(10000, 100).astype(int)
    found = {goal: FirstReachSteps(steps, steps > 0) for goal in ((0, 20), (1, 1))}
    result = Goals(((0, 20), (1, 1)), {"random": found, "action-balance": found})
    verdict = result.agreement("random", (0, 20))
    assert verdict is not None
    assert verdict.z == pytest.approx((steps.mean() - 10583.86) / (steps.std(ddof=1) * 0.02**0.5))
    assert result.agreement("random", (1, 1)) is None
    assert result.agreement("action-balance", (0, 20)) is None


def test_a_goal_has_the_same_runs_whatever_other_goals_and_methods_there_are() -> None:
    alone = goals.run(GridSettings(runs=3, size=6, episode_steps=30, goals=((3, 3),), methods=("rnd",)))
    among = goals.run(GridSettings(runs=5, size=6, episode_steps=30, goals=((5, 0), (3, 3))))
    assert alone.methods["rnd"][3, 3].steps.tolist() == among.methods["rnd"][3, 3].steps[:3].tolist()
    assert among.methods["rnd"][5, 0].steps.tolist() != among.methods["rnd"][3, 3].steps.tolist()


def test_runs_that_time_out_are_counted() -> None:
    result = goals.run(GridSettings(runs=4, goals=((39, 39),), methods=("random",), max_steps=100))
    found = result.methods["random"][39, 39]
    assert found.timed_out == 4
    assert found.steps.tolist() == [100] * 4
