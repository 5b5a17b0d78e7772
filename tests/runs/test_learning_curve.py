"""The final value of a learning curve."""

import numpy as np

from action_balance.runs import learning_curve


def test_the_final_mean_is_over_the_known_values_of_the_last_tenth() -> None:
    nan = np.nan
    values = np.array([[0.0] * 18 + [1.0, 0.5], [1.0] * 18 + [nan, 0.25], [1.0] * 18 + [nan, nan]])
    np.testing.assert_allclose(learning_curve.final_mean(values), [0.75, 0.25, nan])
    assert learning_curve.final_mean(np.array([9.0, 2.0])) == 2  # a tenth of two is none: the last


def test_unknown_values_are_replaced_by_the_last_known_one() -> None:
    nan = np.nan
    values = np.array([[nan, 4.0, nan, nan], [1.0, nan, np.inf, 3.0]])
    np.testing.assert_array_equal(learning_curve.carried_forward(values), [[nan, 4, 4, 4], [1, 1, 1, 3]])
