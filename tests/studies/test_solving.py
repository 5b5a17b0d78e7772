"""When agents have solved their task, with numbers computed by hand."""

from collections.abc import Sequence
from math import inf, nan

import numpy as np

from action_balance.studies.solving import area, median, newest, restricted, solved_at

STEPS = np.array([10, 20, 30, 40])  # at the end of each update


def solved(episodes: Sequence[float], returns: Sequence[float], threshold: float = 0.5) -> int:
    return int(solved_at(np.array([episodes]), np.array([returns]), STEPS[: len(episodes)], threshold)[0])


def test_a_task_is_solved_once_the_mean_of_the_last_100_episodes_reaches_the_threshold() -> None:
    assert solved([99, 1, 5, 5], [1, 1, 0, 0]) == 20  # the 100th episode; lost again later
    assert solved([100, 100, 100, 100], [0, 0.25, 0.5, 1]) == 30  # only the last 100 count
    assert solved([60, 60, 60, 60], [0, 0.5, 1, 1]) == 30  # updates 2 and 3 have 120 episodes, whose mean is 0.75
    assert solved([60, 60, 60, 60], [0, 0.5, 0.5, 0.25], -0.1) == 20
    # All 150 episodes of updates 1 to 3 count, because updates 2 and 3 have only 90 of them: (60 + 0 + 10) / 150 < 0.5.
    assert solved([60, 80, 10], [1, 0, 1]) == -1
    assert solved([60, 80, 10], [1, 0, 1], 0.4) == 20  # 60 / 140, and 70 / 150 later


def test_a_task_is_not_solved_by_few_episodes_or_low_returns() -> None:
    assert solved([99, 0, 0, 0], [1, nan, nan, nan]) == -1
    assert solved([200, 200, 200, 200], [0.4] * 4) == -1
    assert solved([200, 200, 200, 200], [1.0] * 4, inf) == -1


def test_updates_without_an_episode_do_not_matter() -> None:
    assert solved([0, 50, 0, 50], [nan, 1, nan, 0]) == 40  # 0.5 reaches 0.5


def test_agents_that_never_solve_their_task_count_with_all_steps() -> None:
    assert restricted(np.array([30, -1, 10]), 40).tolist() == [30, 40, 10]


def test_a_learning_curve_has_the_last_known_return_and_begins_with_the_first_one() -> None:
    episodes, returns = np.array([[0, 2, 0, 1], [0, 0, 0, 0]]), np.array([[nan, 0.5, nan, 0.75], [nan] * 4])
    np.testing.assert_array_equal(newest(episodes, returns), [[0.5, 0.5, 0.5, 0.75], [0, 0, 0, 0]])
    assert area(episodes, returns).tolist() == [0.5625, 0]


def test_the_median_is_infinite_where_fewer_than_half_of_the_agents_have_solved_their_task() -> None:
    assert median(np.array([200, 100, 300, -1, -1]), 1000).value == 300  # 1/5, 2/5, 3/5
    assert median(np.array([200, 100, -1, -1, -1]), 1000).value == inf
    assert median(np.full(5, -1), 1000).parts == (inf, inf, inf)


def test_the_interval_of_a_median_has_greenwoods_variance() -> None:
    # The share of agents without a solution, S, is 0.8 at 100 and 0.2 at 400, with Greenwood's sums 1/20 and
    # 1/20 + 1/12 + 1/6 + 1/2 = 0.8. Half widths of log(-log S): 1.96 sqrt(1/20) / -ln 0.8 = 1.96 and
    # 1.96 sqrt(0.8) / -ln 0.2 = 1.09, so S may be 0.8^exp(1.96) = 0.20 at 100 already, and still 0.2^exp(-1.09) = 0.58
    # at 400.
    assert median(np.array([100, 200, 300, 400, -1]), 1000).parts == (300, 100, inf)
    assert np.isnan(median(np.array([100, 200, 300, -1]), 1000).low)  # too few agents


def test_the_median_of_agents_that_are_equally_fast_is_their_time() -> None:
    assert median(np.full(8, 100), 1000).parts == (100, 100, 100)
