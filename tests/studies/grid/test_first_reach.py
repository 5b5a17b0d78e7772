import math

import numpy as np

from action_balance.studies.grid.first_reach import FirstReachSteps

FOUND = FirstReachSteps(np.array([3, 100, 5]), np.array([True, False, True]))


def test_runs_that_hit_the_limit_count_as_timed_out() -> None:
    assert FOUND.timed_out == 1
    assert FOUND.mean.value == 36
    assert FOUND.numbers["median"] == 5
    assert FOUND.rows[0] == (0, 3)
    assert math.isnan(FOUND.rows[1][1])
