import math

import numpy as np

from action_balance.studies.grid.first_reach import FirstReachSteps, timed_out

FOUND = FirstReachSteps(np.array([3, 100, 5]), np.array([True, False, True]))


def test_runs_that_hit_the_limit_count_as_timed_out() -> None:
    assert FOUND.timed_out == 1
    assert FOUND.mean.value == 36
    assert FOUND.numbers["median"] == 5
    assert FOUND.rows[0] == (0, 3)
    assert math.isnan(FOUND.rows[1][1])


def test_runs_that_timed_out_are_summed_over_goals_and_treasures() -> None:
    methods = {"rnd": {"goals": [{"given_up": 2}, {"given_up": 1}]}, "random": {"treasure": {"given_up": 4}}}
    assert timed_out({"methods": methods}) == 7
    assert timed_out({"methods": {"rnd": {}}}) == 0
