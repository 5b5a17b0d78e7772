"""Means with their uncertainty. All intervals are 95 % intervals.

Axes: R runs, T time points, U updates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from action_balance.files import Data

CONFIDENCE = 0.95
RESAMPLES = 2000

#: With fewer runs, a bootstrap shows little more than their range, and no interval is given.
FEWEST = 5

#: Numbers that a bootstrap over time points holds in memory at once.
CHUNK = 200_000

#: Share of the updates, at the end of a run, whose mean is its final value.
LAST = 0.1


class Estimate(NamedTuple):
    """A number and its 95 % interval; the ends are nan where there are too few runs for an interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        form = ",.0f" if abs(self.value) >= 1000 else ".4g"
        return f"{self.value:{form}} [{self.low:{form}}, {self.high:{form}}]"


def number(value: float | None) -> float | str | None:
    """A number as JSON stores it: null for nan, a word for infinity."""
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def to_data(estimate: Estimate | None) -> Data | None:
    """An estimate as a summary stores it."""
    if estimate is None:
        return None
    return {name: number(value) for name, value in estimate._asdict().items()}


def describe(data: Data | None, digits: int = 2) -> str | None:
    """An estimate of a summary as text.

    Args:
        data: the estimate as `to_data` makes it.
        digits: decimals.

    Returns:
        ``1.23 [1.10, 1.40]``, without brackets where there is no interval; None without a value.
    """
    if data is None or data["value"] is None:
        return None
    value, low, high = (None if data[key] is None else float(data[key]) for key in ("value", "low", "high"))
    interval = "" if low is None or high is None else f" [{low:.{digits}f}, {high:.{digits}f}]"
    return f"{value:.{digits}f}{interval}"


def final_mean(values: np.ndarray) -> np.ndarray:
    """Mean of the known values in the last tenth of the updates, (..., U) -> (...); nan where none is known."""
    last = values[..., -max(1, int(LAST * values.shape[-1])) :]
    known = np.isfinite(last)
    count = known.sum(axis=-1)
    return np.where(count > 0, np.where(known, last, 0).sum(axis=-1) / np.maximum(count, 1), math.nan)


def carried_forward(values: np.ndarray) -> np.ndarray:
    """Replace each value that is not finite by the last finite one, (..., U); nan before the first."""
    newest = np.maximum.accumulate(np.where(np.isfinite(values), np.arange(values.shape[-1]), -1), axis=-1)
    return np.where(newest >= 0, np.take_along_axis(values, np.maximum(newest, 0), axis=-1), math.nan)


def _t_quantile(runs: int) -> float:
    return float(special.stdtrit(runs - 1, (1 + CONFIDENCE) / 2)) if runs > 1 else np.nan


def half_width(samples: np.ndarray) -> np.ndarray:
    """Half the width of Student's interval of the mean over the first axis, (R, ...) -> (...)."""
    runs = len(samples)
    if runs < 2:
        return np.full(samples.shape[1:], np.nan)
    return _t_quantile(runs) * samples.std(axis=0, ddof=1) / np.sqrt(runs)


def mean_band(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over the first axis and both ends of Student's interval, (R, ...) -> (...) each."""
    mean, half = samples.mean(axis=0), half_width(samples)
    return mean, mean - half, mean + half


def rounded(*values: float, digits: int = 6) -> list[float]:
    """Numbers with so many significant digits, for tables."""
    return [float(f"{value:.{digits}g}") for value in values]


def mean(samples: np.ndarray) -> Estimate:
    """Mean of independent runs, (R,), with Student's interval."""
    value, half = float(samples.mean()), float(half_width(samples))
    return Estimate(value, value - half, value + half)


def bootstrap_mean(samples: np.ndarray, seed: int = 0) -> Estimate:
    """Mean of independent runs, (R,), with a bootstrap interval, which stays within the range of the values."""
    value = float(samples.mean())
    if len(samples) < FEWEST:
        return Estimate(value, np.nan, np.nan)
    means = np.clip(resample_weights(len(samples), seed) @ samples, samples.min(), samples.max())  # but for rounding
    return Estimate(value, *percentile_interval(means))


def share(hits: np.ndarray) -> Estimate:
    """Share of runs, (R,) bool, in which something happened, with the exact interval of Clopper and Pearson."""
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
    """How often each bootstrap resample draws each run, divided by the number of runs, (RESAMPLES, R)."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES).astype(np.float32) / np.float32(runs)


def percentile_interval(values: np.ndarray) -> tuple[float, float]:
    """Ends of the middle 95 % of bootstrap values, all of which must be finite."""
    low, high = _middle(values)
    return float(low), float(high)


def _middle(values: np.ndarray) -> np.ndarray:
    """Ends of the middle 95 % along the last axis, (..., B) -> (2, ...)."""
    return np.quantile(values, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=-1)


def ratio_of_means(numerator: np.ndarray, denominator: np.ndarray, seed: int = 0) -> Estimate:
    """Ratio of two means over all axes, (..., R), with a bootstrap over the runs of each row."""
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

    A value that a quartile cuts counts with the part that lies inside, so that exactly half of the values count,
    however many there are.
    """
    edges = np.clip(np.arange(len(samples) + 1) / len(samples), 0.25, 0.75)
    return np.tensordot(2 * np.diff(edges), np.sort(samples, axis=0), axes=1)


def iqm_band(strata: Sequence[np.ndarray], seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Interquartile mean over the runs of several environments, with a stratified bootstrap.

    Runs are resampled within each environment, and all environments have the same weight, however many runs they have
    (Agarwal et al., 2021, https://arxiv.org/abs/2108.13264).

    Args:
        strata: the runs of each environment, (R, T) with the same T time points.
        seed: seed of the resamples, which are the same at each time point.

    Returns:
        Value, lower and upper end of the 95 % interval, each (T,); the interval is nan unless every environment has
        `FEWEST` runs.
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
    """Interquartile means of values, (R, T), with B columns of weights that sum to 1, (R, B): (T, B).

    A value drawn several times is that many equal values side by side: it counts with the part of its stretch of the
    sorted weights that lies between the quartiles.
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
    """`iqm_band` of one number per run, (R,)."""
    value, low, high = iqm_band([runs[:, None] for runs in strata])
    return Estimate(float(value[0]), float(low[0]), float(high[0]))


def probability_of_improvement(ours: np.ndarray, other: np.ndarray, seed: int = 0) -> Estimate:
    """Share of pairs of runs in which the value of ours, (R,), exceeds the other's, (Q,); ties count half.

    The bootstrap of the interval draws the runs of both sides independently.
    """
    wins = (ours[:, None] > other) + 0.5 * (ours[:, None] == other)  # (R, Q)
    value = float(wins.mean())
    if min(len(ours), len(other)) < FEWEST:
        return Estimate(value, np.nan, np.nan)
    weights, other_weights = resample_weights(len(ours), seed), resample_weights(len(other), seed + 1)
    shares = ((weights @ wins) * other_weights).sum(axis=1)
    return Estimate(value, *percentile_interval(np.clip(shares, 0, 1)))  # weights sum to 1 but for rounding


def paired_ratio(numerator: np.ndarray, denominator: np.ndarray, seed: int = 0) -> Estimate:
    """Ratio of two means over the same runs, (R,) each; the bootstrap draws both values of a run together."""
    value = float(numerator.mean() / denominator.mean())
    if len(numerator) < FEWEST:
        return Estimate(value, np.nan, np.nan)
    weights = resample_weights(len(numerator), seed)
    return Estimate(value, *percentile_interval((weights @ numerator) / (weights @ denominator)))


@dataclass(frozen=True)
class Agreement:
    """Comparison of our mean with a published mean of which only the number of runs is known."""

    z: float
    """Difference in standard errors, assuming that the published runs vary as much as ours."""
    agrees: bool
    """Whether chance alone causes so large a difference in more than 5 % of repetitions."""


def agreement(ours: np.ndarray, published_mean: float, published_runs: int) -> Agreement | None:
    """Compare the mean of our runs, (R,), with a published mean; None with one run."""
    if len(ours) < 2:
        return None
    error = float(ours.std(ddof=1)) * np.sqrt(1 / len(ours) + 1 / published_runs)
    z = float((ours.mean() - published_mean) / error) if error else np.inf
    return Agreement(z, abs(z) <= _t_quantile(len(ours)))
