from pathlib import Path

import numpy as np
import pytest

from action_balance.envs.grid.maps import open_world
from action_balance.studies.neural.analysis import Counting, NeuralRecord, NeuralWorld
from action_balance.studies.neural.settings import NeuralSettings


def trained(returns: list[list[float]], states: list[list[float]], found: list[int]) -> NeuralRecord:
    """A method with these numbers; a negative step is a treasure never found, in 1024 steps."""
    config = NeuralSettings(seeds=len(found), steps=1024).runs("open")["rnd"]
    return NeuralRecord(
        *(Path("open-rnd"), config, "finished", {}, {}),
        steps=np.arange(1, len(returns[0]) + 1) * 10.0,
        states=np.array(states),
        returns=np.array(returns),
        first_reward=np.array(found),
        seconds=1.0,
    )


def test_the_score_is_the_mean_return_of_the_last_tenth_of_the_updates() -> None:
    nan = np.nan
    returns = [[0.0] * 18 + [1.0, 0.5], [1.0] * 18 + [nan, 0.25], [1.0] * 18 + [nan, nan]]
    one = trained(returns, [[1.0] * 20] * 3, [5, 5, 5])
    np.testing.assert_allclose(one.scores, [0.75, 0.25, 0.0])
    assert one.solved.value == pytest.approx(1 / 3)


def test_methods_are_compared_by_states_and_by_steps_to_the_treasure() -> None:
    ours = trained([[0.0], [0.0]], [[12.0], [14.0]], [10, 30])
    other = trained([[0.0], [0.0]], [[10.0], [10.0]], [60, -1])  # 60 steps, and all 1024
    world = NeuralWorld("corridor", {"action-balance-rnd": ours, "rnd": other})
    more, ratio = world.more_states("action-balance-rnd", "rnd"), world.sooner("action-balance-rnd", "rnd")
    assert more is not None
    assert ratio is not None
    assert more.value == 3
    assert ratio.value == pytest.approx(1084 / 40)
    assert world.sooner("action-balance-rnd", "ppo") is None


def counted(
    counts: list[list[int]], errors: list[list[float]], pi: list[list[float]], beta: list[list[float]]
) -> Counting:
    """One agent that has known a few states."""
    return Counting(open_world(2), *(np.array([part]) for part in (counts, errors, pi, beta)))


def test_the_rank_correlation_is_over_the_pairs_of_known_states() -> None:
    counts = [[4, 1, 0, 2], [8, 3, 6, 7], [0, 0, 0, 0], [0, 0, 0, 0]]
    even = [[0.25] * 4] * 4
    falling = [[1 / (1 + n) for n in row] for row in counts]
    falling[2] = [5.0, 6.0, 7.0, 8.0]  # nobody was there
    assert counted(counts, falling, even, even).rank_correlations == pytest.approx([1.0])
    rising = [[float(n) for n in row] for row in counts]
    assert counted(counts, rising, even, even).rank_correlations == pytest.approx([-1.0])
    # Ranks of the counts 4 1 0 2 8 3 6 7 are 5 2 1 3 8 4 6 7; those of errors 8 ... 1 in order are 8 ... 1. The squared
    # differences of one ranking and the reversed other sum to 36, so that Spearman's is 1 - 6 * 36 / (8 * 63) = 4 / 7.
    errors = [[8.0, 7.0, 6.0, 5.0], [4.0, 3.0, 2.0, 1.0], *[[0.0] * 4] * 2]
    assert counted(counts, errors, even, even).rank_correlations == pytest.approx([4 / 7])


def test_the_rank_correlation_within_states_is_a_mean_over_those_whose_counts_differ() -> None:
    counts = [[4, 1, 0, 2], [8, 3, 6, 7], [5, 5, 5, 5], [0, 0, 0, 0]]
    even = [[0.25] * 4] * 4
    # The first is in perfect order. In the second, minus the counts rank 1 4 3 2 and the errors 1 2 4 3: the squared
    # differences sum to 6, and Spearman's is 1 - 6 * 6 / (4 * 15) = 0.4. In the others nothing differs.
    errors = [[1.0, 3.0, 4.0, 2.0], [1.0, 2.0, 4.0, 3.0], [1.0, 2.0, 3.0, 4.0], [0.0] * 4]
    assert counted(counts, errors, even, even).within_states == pytest.approx([(1 + 0.4) / 2])


def test_the_probability_of_the_least_tried_action_is_a_mean_over_known_states() -> None:
    counts = [[4, 1, 2, 2], [3, 0, 0, 7], [0, 0, 0, 0], [0, 0, 0, 0]]
    pi = [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1], [1.0, 0, 0, 0], [1.0, 0, 0, 0]]
    beta = [[0.1, 0.4, 0.2, 0.3], [0.3, 0.3, 0.4, 0.0], [1.0, 0, 0, 0], [1.0, 0, 0, 0]]
    result = counted(counts, pi, pi, beta)
    assert result.least_tried(result.pi) == pytest.approx([(0.2 + 0.25) / 2])
    assert result.least_tried(result.beta) == pytest.approx([(0.4 + 0.35) / 2])
    assert result.lift.value == pytest.approx(0.15)
