"""Means, intervals and verdicts, with numbers computed by hand."""

from collections.abc import Callable

import numpy as np
import pytest

from action_balance.studies import statistics
from action_balance.studies.statistics import Estimate


def iqm(samples: np.ndarray) -> np.ndarray:
    """Mean of the middle half over the first axis; a value that a quartile cuts counts with its part inside."""
    edges = np.clip(np.arange(len(samples) + 1) / len(samples), 0.25, 0.75)
    return np.tensordot(2 * np.diff(edges), np.sort(samples, axis=0), axes=1)


def test_mean_has_students_interval() -> None:
    # mean 3, standard deviation sqrt(2.5), standard error sqrt(0.5), t(4; 0.975) = 2.776445
    estimate = statistics.mean(np.array([1, 2, 3, 4, 5]))
    assert estimate.value == 3
    assert estimate.high - 3 == pytest.approx(2.776445 * 0.5**0.5, rel=1e-6)
    assert 3 - estimate.low == pytest.approx(2.776445 * 0.5**0.5, rel=1e-6)


def test_intervals_that_are_right_together_are_wider() -> None:
    # Bonferroni: five intervals are each right in 99 % of cases, so that Student's has t(4; 0.995) = 4.604095.
    assert [statistics.confidence(count) for count in (1, 5)] == pytest.approx([0.95, 0.99])
    runs = np.array([1.0, 2, 3, 4, 5])
    assert statistics.mean(runs, 5).high - 3 == pytest.approx(4.604095 * 0.5**0.5, rel=1e-6)
    assert statistics.percentile_interval(np.arange(101.0)) == pytest.approx((2.5, 97.5))
    assert statistics.percentile_interval(np.arange(101.0), 5) == pytest.approx((0.5, 99.5))
    one, five = (statistics.paired_ratio(runs, np.ones(5), comparisons=count) for count in (1, 5))
    assert five.value == one.value == 3
    assert five.low < one.low < one.high < five.high


@pytest.mark.parametrize("of", [statistics.mean, statistics.bootstrap_mean, lambda runs: statistics.pooled_iqm([runs])])
def test_fewer_than_five_runs_have_a_range_instead_of_an_interval(of: Callable[[np.ndarray], Estimate]) -> None:
    estimate = of(np.array([0.7, 0.1, 0.3, 0.5]))
    assert estimate.value == pytest.approx(0.4)
    assert np.isnan([estimate.low, estimate.high]).all()
    assert (estimate.spread, estimate.spread_ends) == ("range", (0.1, 0.7))
    enough = of(np.array([0.7, 0.1, 0.3, 0.5, 0.4]))
    assert (enough.spread, enough.extremes) == ("interval", None)
    assert enough.spread_ends == (enough.low, enough.high)
    one = of(np.array([7.0]))
    assert (one.value, one.spread) == (7, None)


def test_an_estimate_is_stored_with_its_interval_or_its_range() -> None:
    few, many, one = Estimate(2, extremes=(1, 3)), Estimate(2, 1.5, 2.5), Estimate(2)
    assert statistics.to_data(few) == {"value": 2, "low": None, "high": None, "range": [1, 3]}
    assert statistics.to_data(many) == {"value": 2, "low": 1.5, "high": 2.5}
    assert [statistics.describe(statistics.to_data(each), 1) for each in (few, many, one)] == [
        "2.0 (range 1.0 to 3.0)",
        "2.0 [1.5, 2.5]",
        "2.0",
    ]
    assert str(few) == "2 (range 1 to 3)"


def test_an_increasing_function_applies_to_every_part_of_an_estimate() -> None:
    assert Estimate(2, 1, 3).map(lambda part: 10 * part) == Estimate(20, 10, 30)
    few = Estimate(2, extremes=(1, 3)).map(lambda part: 10 * part)
    assert (few.value, few.extremes) == (20, (10, 30))


def test_differences_ratios_and_shares_of_few_runs_have_no_spread() -> None:
    few, many = np.array([1.0, 2, 3, 4]), np.array([1.0, 2, 3, 4, 5])
    assert statistics.difference(few, many).spread is None
    assert statistics.ratio_of_means(many, few).spread is None
    assert statistics.paired_ratio(few, few).spread is None
    assert statistics.share(few > 2).spread is None
    assert np.isnan(statistics.mean_band(few)[1])


def test_difference_has_welchs_interval() -> None:
    # variances 2.5 / 5 and 10 / 5, error sqrt(2.5), freedom 2.5^2 / (0.25 / 4 + 4 / 4) = 5.882, t = 2.4590
    estimate = statistics.difference(np.array([1, 2, 3, 4, 5]), np.array([2, 4, 6, 8, 10]))
    assert estimate.value == -3
    assert estimate.high + 3 == pytest.approx(2.4590 * 2.5**0.5, rel=1e-3)


def test_ratio_of_means_averages_rows_before_dividing() -> None:
    estimate = statistics.ratio_of_means(np.array([[2, 4] * 3, [6, 8] * 3]), np.array([[1, 3] * 3, [1, 3] * 3]))
    assert estimate.value == 5 / 2
    assert estimate.low < 2.5 < estimate.high


def test_ratio_interval_covers_the_truth_in_about_95_percent_of_cases() -> None:
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(40):
        estimate = statistics.ratio_of_means(generator.exponential(3, 60), generator.exponential(2, 60))
        hits += estimate.low <= 1.5 <= estimate.high
    assert 33 <= hits <= 40  # 0.95 of 40, give or take four standard deviations


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


def test_agreement_needs_five_runs() -> None:
    assert statistics.agreement(np.array([1.0, 2, 3, 4]), 1.0, 100) is None


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7], 7),
        ([1, 4], 2.5),
        ([1, 2, 9], (1 / 12 * 1 + 4 / 12 * 2 + 1 / 12 * 9) * 2),  # a quarter of each outer third is inside
        ([100, 3, 1, 4], 3.5),
        ([0, 1, 2, 6, 100], 0.3 * 1 + 0.4 * 2 + 0.3 * 6),
        ([0, 1, 2, 3, 7, 100], (1 + 7) / 6 + (2 + 3) / 3),
        ([-50, -9, 1, 2, 4, 5, 60, 70], 3),
    ],
)
def test_iqm_is_the_mean_of_the_middle_half(values: list[float], expected: float) -> None:
    assert iqm(np.array(values)) == pytest.approx(expected, rel=1e-12)
    assert statistics.pooled_iqm([np.array(values)]).value == pytest.approx(expected, rel=1e-12)


def test_iqm_band_is_that_of_resamples_written_out() -> None:
    samples = np.random.default_rng(1).normal(size=(6, 3))
    times = np.rint(6 * statistics.resample_weights(6, seed=0)).astype(int)
    drawn = np.array([iqm(np.repeat(samples, row, axis=0)) for row in times])
    value, low, high = statistics.iqm_band([samples])
    assert value == pytest.approx(iqm(samples), rel=1e-12)
    assert low == pytest.approx(np.quantile(drawn, 0.025, axis=0), rel=1e-5)
    assert high == pytest.approx(np.quantile(drawn, 0.975, axis=0), rel=1e-5)


def test_iqm_of_equal_values_has_no_width_and_of_one_run_no_interval() -> None:
    same = statistics.pooled_iqm([np.full(5, 3.0)])
    assert (same.value, same.low, same.high) == pytest.approx((3, 3, 3), rel=1e-6)
    one = statistics.pooled_iqm([np.array([3.0])])
    assert one.value == 3
    assert np.isnan([one.low, one.high]).all()
    alone_in_one_environment = statistics.pooled_iqm([np.array([3.0]), np.array([1.0, 2.0])])
    assert np.isnan([alone_in_one_environment.low, alone_in_one_environment.high]).all()


def test_iqm_bootstrap_draws_within_each_environment() -> None:
    # each environment has one value: drawn within them, half of the pool is always 0 and half 10
    within = statistics.pooled_iqm([np.zeros(6), np.full(6, 10.0)])
    assert (within.value, within.low, within.high) == pytest.approx((5, 5, 5), rel=1e-6)
    # drawn from the pool, the halves vary
    mixed = statistics.pooled_iqm([np.array([0.0] * 4 + [10.0] * 4)])
    assert mixed.value == 5
    assert mixed.low < 2
    assert mixed.high > 8


def test_environments_with_more_runs_weigh_the_same() -> None:
    # half of the weight is on 0 and half on 10, although there are three times as many zeros
    assert statistics.pooled_iqm([np.zeros(6), np.full(2, 10.0)]).value == pytest.approx(5)


def test_probability_of_improvement_counts_pairs_and_halves_ties() -> None:
    # of 3 x 2 pairs, each of them six times: 2 beats 1 and ties with 2; 3 beats both; 0 beats none
    estimate = statistics.probability_of_improvement(np.tile([2.0, 3, 0], 2), np.tile([1.0, 2], 3))
    assert estimate.value == (1 + 0.5 + 2) / 6
    assert 0 <= estimate.low < estimate.value < estimate.high <= 1


def test_probability_of_improvement_is_certain_where_runs_do_not_overlap() -> None:
    above = statistics.probability_of_improvement(np.arange(5.0, 10), np.arange(5.0))
    assert (above.value, above.low, above.high) == pytest.approx((1, 1, 1))
    alone = statistics.probability_of_improvement(np.array([5.0]), np.arange(5.0))
    assert alone.value == 1
    assert np.isnan([alone.low, alone.high]).all()


def test_equal_runs_are_no_improvement() -> None:
    """Rounding of the resamples must not become a significant difference."""
    assert statistics.probability_of_improvement(np.zeros(7), np.zeros(7)).parts == (0.5, 0.5, 0.5)


def test_shares_have_exact_intervals() -> None:
    # Without any hit, the upper end h has (1 - h)^20 = 0.025; ten of twenty are symmetric.
    none, half, all_hit = (statistics.share(np.arange(20) < hits) for hits in (0, 10, 20))
    assert (none.value, none.low) == (0, 0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert (all_hit.value, all_hit.high) == (1, 1)
    assert all_hit.low == pytest.approx(0.025 ** (1 / 20))
    assert half.low == pytest.approx(0.2720, abs=1e-4)  # of tables
    assert half.low + half.high == pytest.approx(1)


def test_a_paired_ratio_draws_both_values_of_a_run_together() -> None:
    # Every run has twice as much above as below: the ratio is 2 in every resample, though the runs differ widely.
    below = np.array([1.0, 10, 100, 1000, 10000])
    ratio = statistics.paired_ratio(2 * below, below)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2), rel=1e-5)
    assert statistics.ratio_of_means(2 * below, below).high > 3
    assert np.isnan(statistics.paired_ratio(below[:4], below[:4]).low)


def test_the_bootstrap_of_a_mean_stays_within_the_bounds() -> None:
    mean = statistics.bootstrap_mean(np.array([1.0] * 19 + [0.0]))
    assert mean.value == 0.95
    assert 0.75 < mean.low < 0.95 < mean.high <= 1
    assert np.isnan(statistics.bootstrap_mean(np.ones(4)).low)


def test_json_has_no_nan_and_no_infinity() -> None:
    assert [statistics.number(value) for value in (1.5, np.nan, np.inf, None)] == [1.5, None, "inf", None]
    assert statistics.to_data(None) is None
    alone = statistics.to_data(statistics.mean(np.array([7.0])))
    assert alone == {"value": 7, "low": None, "high": None}


def test_half_widths_of_independent_means_add_like_sides_of_a_right_angle() -> None:
    found = statistics.difference_of_means(Estimate(10, 7, 13), Estimate(4, 0, 8))
    assert found.parts == (6, 1, 11)  # hypot(3, 4) = 5
    assert statistics.difference_of_means(Estimate(10, 7, 13), Estimate(4)).spread is None
