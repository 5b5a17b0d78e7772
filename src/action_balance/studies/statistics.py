"""Means with their uncertainty. Intervals are 95 % throughout."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

CONFIDENCE = 0.95
RESAMPLES = 2000

#: Runs below which a bootstrap says little more than their range, and no interval is given.
FEWEST = 5

#: Numbers that a bootstrap over time points holds at once.
CHUNK = 200_000


@dataclass(frozen=True)
class Estimate:
    """A number and its 95 % interval; the interval is nan where one run alone cannot give any."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        form = ",.0f" if abs(self.value) >= 1000 else ".4g"
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"


def _t_quantile(runs: int) -> float:
    return float(special.stdtrit(runs - 1, (1 + CONFIDENCE) / 2)) if runs > 1 else np.nan


def half_width(samples: np.ndarray) -> np.ndarray:
    """Half of Student's interval of the mean over the first axis, (R, ...) -> (...)."""
    runs = len(samples)
    if runs < 2:
        return np.full(samples.shape[1:], np.nan)
    return _t_quantile(runs) * samples.std(axis=0, ddof=1) / np.sqrt(runs)


def mean(samples: np.ndarray) -> Estimate:
    """Mean of independent runs, (R,), with Student's interval."""
    value, half = float(samples.mean()), float(half_width(samples))
    return Estimate(value, value - half, value + half)


def bootstrap_mean(samples: np.ndarray, seed: int = 0) -> Estimate:
    """Mean of independent runs, (R,), with a bootstrap, whose interval stays within the bounds of the values."""
    value = float(samples.mean())
    if len(samples) < FEWEST:
        return Estimate(value, np.nan, np.nan)
    means = np.clip(resample_weights(len(samples), seed) @ samples, samples.min(), samples.max())  # but for rounding
    return Estimate(value, *percentile_interval(means))


def share(hits: np.ndarray) -> Estimate:
    """Share of the runs, (R,) bool, in which something happened, with the exact interval of Clopper and Pearson."""
    count, runs = int(hits.sum()), len(hits)
    tail = (1 - CONFIDENCE) / 2
    low = float(special.betaincinv(count, runs - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, runs - count, 1 - tail)) if count < runs else 1.0
    return Estimate(count / runs, low, high)


def difference(ours: np.ndarray, other: np.ndarray) -> Estimate:
    """Difference of the means of two independent sets of runs, with Welch's interval."""
    value = float(ours.mean() - other.mean())
    if min(len(ours), len(other)) < 2:
        return Estimate(value, np.nan, np.nan)
    parts = np.array([ours.var(ddof=1) / len(ours), other.var(ddof=1) / len(other)])
    error = np.sqrt(parts.sum())
    if error == 0:
        return Estimate(value, value, value)
    freedom = parts.sum() ** 2 / (parts**2 / (np.array([len(ours), len(other)]) - 1)).sum()
    half = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2) * error)
    return Estimate(value, value - half, value + half)


def resample_weights(runs: int, seed: int) -> np.ndarray:
    """How often each run is drawn in each bootstrap resample, divided by the runs: (RESAMPLES, R)."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES).astype(np.float32) / np.float32(runs)


def percentile_interval(values: np.ndarray) -> tuple[float, float]:
    """The middle 95 % of bootstrap values, of which all must be finite."""
    low, high = _middle(values)
    return float(low), float(high)


def _middle(values: np.ndarray) -> np.ndarray:
    """Ends of the middle 95 % along the last axis, (..., B) -> (2, ...)."""
    return np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=-1)


def ratio_of_means(numerator: np.ndarray, denominator: np.ndarray, seed: int = 0) -> Estimate:
    """Ratio of two means, (..., R) averaged over all axes, with a bootstrap over runs within each row."""
    numerator, denominator = np.atleast_2d(numerator), np.atleast_2d(denominator)
    value = float(numerator.mean() / denominator.mean())
    if numerator.shape[-1] < 2:
        return Estimate(value, np.nan, np.nan)

    def resampled(rows: np.ndarray, first_seed: int) -> np.ndarray:
        weights = [resample_weights(rows.shape[1], first_seed + i) for i in range(len(rows))]
        return np.mean([w @ row for w, row in zip(weights, rows, strict=True)], axis=0)

    ratios = resampled(numerator, seed) / resampled(denominator, seed + len(numerator))
    return Estimate(value, *percentile_interval(ratios))


def iqm(samples: np.ndarray) -> np.ndarray:
    """Interquartile mean over the first axis, (R, ...) -> (...): the mean of the middle half of the values.

    A value that a quartile cuts counts with its part inside, so that any number of values has exactly half in it.
    """
    edges = np.clip(np.arange(len(samples) + 1) / len(samples), 0.25, 0.75)
    return np.tensordot(2 * np.diff(edges), np.sort(samples, axis=0), axes=1)


def iqm_band(strata: Sequence[np.ndarray], seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Interquartile mean of several environments' runs together, with a stratified bootstrap (Agarwal et al., 2021).

    Runs are drawn anew within each environment, and all environments weigh the same, however many runs they have.

    Args:
        strata: the runs of each environment, (R, T) with the same T time points.
        seed: of the resamples, which are the same at each time point.

    Returns:
        Value, lower and upper end of the 95 % interval, each (T,); none without `FEWEST` runs in each.
    """
    values = np.concatenate(strata)  # (R of all, T)
    share = 1 / len(strata)
    whole = np.concatenate([np.full((len(runs), 1), share / len(runs)) for runs in strata])
    value = _weighted_iqm(values, whole)[:, 0]
    if min(map(len, strata)) < FEWEST:
        return value, np.full_like(value, np.nan), np.full_like(value, np.nan)
    drawn = [resample_weights(len(runs), seed + i).T.astype(float) * share for i, runs in enumerate(strata)]
    weights = np.concatenate(drawn)  # (R of all, RESAMPLES)
    step = max(1, CHUNK // RESAMPLES)
    bands = [_middle(_weighted_iqm(values[:, i : i + step], weights)) for i in range(0, len(value), step)]
    low, high = np.concatenate(bands, axis=1) if bands else np.empty((2, 0))
    return value, low, high


def _weighted_iqm(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Interquartile means of (R, T) values with each of B columns of weights (R, B) that sum to 1: (T, B).

    A value that was drawn several times is as many equal values next to each other: what counts is how much of its
    stretch of the sorted weights lies between the quartiles.
    """
    order = np.argsort(values, axis=0)
    total = np.zeros((values.shape[1], weights.shape[1]))
    reached, inside = np.zeros_like(total), np.full_like(total, 0.25)
    for places, ordered in zip(order, np.take_along_axis(values, order, axis=0), strict=True):
        reached += weights[places]
        now = np.clip(reached, 0.25, 0.75)
        total += (now - inside) * ordered[:, None]
        inside = now
    return 2 * total


def pooled_iqm(strata: Sequence[np.ndarray]) -> Estimate:
    """`iqm_band` of one number of each run, (R,)."""
    value, low, high = iqm_band([runs[:, None] for runs in strata])
    return Estimate(float(value[0]), float(low[0]), float(high[0]))


def probability_of_improvement(ours: np.ndarray, other: np.ndarray, seed: int = 0) -> Estimate:
    """Share of pairs of runs in which ours, (R,), has more than the other's, (Q,); ties count half.

    The interval is a bootstrap that draws the runs of both sides independently.
    """
    wins = (ours[:, None] > other) + 0.5 * (ours[:, None] == other)  # (R, Q)
    value = float(wins.mean())
    if min(len(ours), len(other)) < FEWEST:
        return Estimate(value, np.nan, np.nan)
    weights, other_weights = resample_weights(len(ours), seed), resample_weights(len(other), seed + 1)
    shares = ((weights @ wins) * other_weights).sum(axis=1)
    return Estimate(value, *percentile_interval(np.clip(shares, 0, 1)))  # weights sum to 1 but for rounding


def paired_ratio(numerator: np.ndarray, denominator: np.ndarray, seed: int = 0) -> Estimate:
    """Ratio of two means of the same runs, (R,) each, with a bootstrap that draws both values of a run together."""
    value = float(numerator.mean() / denominator.mean())
    if len(numerator) < FEWEST:
        return Estimate(value, np.nan, np.nan)
    weights = resample_weights(len(numerator), seed)
    return Estimate(value, *percentile_interval((weights @ numerator) / (weights @ denominator)))


@dataclass(frozen=True)
class Agreement:
    """Our mean beside a published mean of which only the number of runs is known."""

    z: float
    """Difference in standard errors. The spread of the published runs is taken to be that of ours."""
    agrees: bool
    """Whether so large a difference is expected by chance in more than 5 % of repetitions."""


def agreement(ours: np.ndarray, published_mean: float, published_runs: int) -> Agreement | None:
    """Whether the mean of our runs, (R,), and a published mean differ by no more than the noise of both."""
    if len(ours) < 2:
        return None
    error = float(ours.std(ddof=1)) * np.sqrt(1 / len(ours) + 1 / published_runs)
    z = float((ours.mean() - published_mean) / error) if error else np.inf
    return Agreement(z, abs(z) <= _t_quantile(len(ours)))
