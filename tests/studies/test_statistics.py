"""Means, intervals and verdicts, with numbers computed by hand."""

import numpy as np
import pytest

from action_balance.studies import statistics


def test_mean_has_students_interval() -> None:
    # mean 3, standard deviation sqrt(2.5), standard error sqrt(0.5), t(4; 0.975) = 2.776445
    estimate = statistics.mean(np.array([1, 2, 3, 4, 5]))
    assert estimate.value == 3
    assert estimate.high - 3 == pytest.approx(2.776445 * 0.5**0.5, rel=1e-6)
    assert 3 - estimate.low == pytest.approx(2.776445 * 0.5**0.5, rel=1e-6)


def test_one_run_has_no_interval() -> None:
    estimate = statistics.mean(np.array([7]))
    assert estimate.value == 7
    assert np.isnan([estimate.low, estimate.high]).all()


def test_difference_has_welchs_interval() -> None:
    # variances 2.5 / 5 and 10 / 5, error sqrt(2.5), freedom 2.5^2 / (0.25 / 4 + 4 / 4) = 5.882, t = 2.4590
    estimate = statistics.difference(np.array([1, 2, 3, 4, 5]), np.array([2, 4, 6, 8, 10]))
    assert estimate.value == -3
    assert estimate.high + 3 == pytest.approx(2.4590 * 2.5**0.5, rel=1e-3)


def test_difference_of_equal_constants_is_zero() -> None:
    assert statistics.difference(np.ones(3), np.ones(3)) == statistics.Estimate(0, 0, 0)


def test_ratio_of_means_averages_rows_before_dividing() -> None:
    estimate = statistics.ratio_of_means(np.array([[2, 4], [6, 8]]), np.array([[1, 3], [1, 3]]))
    assert estimate.value == 5 / 2
    assert estimate.low < 2.5 < estimate.high


def test_ratio_interval_covers_the_truth_in_about_95_percent_of_cases() -> None:
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        estimate = statistics.ratio_of_means(generator.exponential(3, 60), generator.exponential(2, 60))
        hits += estimate.low <= 1.5 <= estimate.high
    assert 178 <= hits <= 199  # 0.95 of 200, give or take four standard deviations


def test_agreement_counts_the_noise_of_both_sides() -> None:
    # standard deviation sqrt(2.5); error sqrt(2.5 * (1/5 + 1/5)) = 1, t(4; 0.975) = 2.776
    ours = np.array([1, 2, 3, 4, 5])
    near = statistics.agreement(ours, published_mean=5.5, published_runs=5)
    far = statistics.agreement(ours, published_mean=5.9, published_runs=5)
    assert near is not None
    assert far is not None
    assert near.z == pytest.approx(-2.5)
    assert near.agrees
    assert not far.agrees


def test_agreement_needs_two_runs() -> None:
    assert statistics.agreement(np.array([1.0]), 1.0, 100) is None
