"""Means with their uncertainty. Intervals are 95 % throughout."""

from dataclasses import dataclass

import numpy as np
from scipy import special

CONFIDENCE = 0.95
RESAMPLES = 2000


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
    low, high = np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


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
