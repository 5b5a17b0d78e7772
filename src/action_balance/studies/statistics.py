"""Means with their uncertainty: a 95 % interval or, from fewer than `MIN` runs, the range of the runs.

Axes: R runs, T time points, U updates.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from action_balance.files import Data

CONFIDENCE = 0.95
RESAMPLES = 2000

#: Resamples of intervals that are corrected for several comparisons, whose ends lie further out.
CORRECTED = 100_000

#: Fewest runs for an interval. With fewer, Student's interval leaves the possible values far behind and a bootstrap
#: shows little more than the range, so the range itself is given.
MIN = 5

#: What is given beside a value: its 95 % interval, or the smallest and the largest value of the runs.
Spread = Literal["interval", "range"]

#: Numbers that a bootstrap over time points holds in memory at once.
CHUNK = 200_000


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % interval or, where there are too few runs for one, the range of the runs."""

    value: float
    low: float = math.nan  # ends of the interval; nan without one
    high: float = math.nan
    extremes: tuple[float, float] | None = None  # of the runs, if these are too few, and the number is their mean

    @property
    def parts(self) -> tuple[float, float, float]:
        return self.value, self.low, self.high

    @property
    def spread(self) -> Spread | None:
        """What `spread_ends` are; None where there is neither an interval nor a range."""
        if not math.isnan(self.low + self.high):
            return "interval"
        return "range" if self.extremes is not None else None

    @property
    def spread_ends(self) -> tuple[float, float]:
        """Both ends of the interval, or else of the range; nan without either."""
        return self.extremes if self.spread == "range" and self.extremes is not None else (self.low, self.high)

    def map(self, increasing: Callable[[float], float]) -> "Estimate":
        value, low, high = (float(increasing(part)) for part in self.parts)
        least, most = (None, None) if self.extremes is None else map(increasing, self.extremes)
        return Estimate(value, low, high, None if least is None or most is None else (float(least), float(most)))

    def __str__(self) -> str:
        form = ",.0f" if abs(self.value) >= 1000 else ".4g"
        return _written(f"{self.value:{form}}", self.spread, [f"{end:{form}}" for end in self.spread_ends])


def _written(value: str, spread: Spread | None, ends: Sequence[str]) -> str:
    """A value with its interval in brackets, its range in words, or neither."""
    if spread is None:
        return value
    return f"{value} [{ends[0]}, {ends[1]}]" if spread == "interval" else f"{value} (range {ends[0]} to {ends[1]})"


def has_interval(runs: int) -> bool:
    """Whether so many runs are enough for an interval."""
    return runs >= MIN


def number(value: float | None) -> float | str | None:
    """A number as JSON stores it: null for nan, a word for infinity."""
    if value is None or math.isnan(value):
        return None
    return value if math.isfinite(value) else str(value)


def to_data(estimate: Estimate | None) -> Data | None:
    """An estimate as a summary stores it; the range of the runs is stored where it stands in for an interval."""
    if estimate is None:
        return None
    data: Data = {name: number(part) for name, part in zip(("value", "low", "high"), estimate.parts, strict=True)}
    return data | {"range": [number(end) for end in estimate.spread_ends]} if estimate.spread == "range" else data


def from_data(data: Data) -> Estimate:
    value, low, high = (math.nan if data.get(key) is None else float(data[key]) for key in ("value", "low", "high"))
    extremes = data.get("range")
    return Estimate(value, low, high, None if extremes is None else (float(extremes[0]), float(extremes[1])))


def describe(data: Data | None, digits: int = 2) -> str | None:
    if data is None or data["value"] is None:
        return None
    estimate = from_data(data)
    ends = [f"{end:.{digits}f}" for end in estimate.spread_ends]
    return _written(f"{estimate.value:.{digits}f}", estimate.spread, ends)


def confidence(comparisons: int) -> float:
    """The confidence of each interval at which all of so many are right together in 95 % of cases (Bonferroni)."""
    return 1 - (1 - CONFIDENCE) / comparisons


def _t_quantile(runs: int, comparisons: int = 1) -> float:
    return float(special.stdtrit(runs - 1, (1 + confidence(comparisons)) / 2))


def half_width(samples: np.ndarray, comparisons: int = 1) -> np.ndarray:
    """Half the width of Student's interval of the mean over the first axis, (R, ...) -> (...); nan from few runs."""
    runs = len(samples)
    if not has_interval(runs):
        return np.full(samples.shape[1:], np.nan)
    return _t_quantile(runs, comparisons) * samples.std(axis=0, ddof=1) / np.sqrt(runs)


def mean_band(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over the first axis and both ends of Student's interval, (R, ...) -> (...) each; nan ends from few runs."""
    mean, half = samples.mean(axis=0), half_width(samples)
    return mean, mean - half, mean + half


def range_band(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest value over the first axis, (R, ...) -> (...) each."""
    return samples.min(axis=0), samples.max(axis=0)


def rounded(*values: float, digits: int = 6) -> list[float]:
    return [float(f"{value:.{digits}g}") for value in values]


def _of_few(value: float, runs: np.ndarray) -> Estimate:
    """A mean of too few runs for an interval, (R,), with their range; one run has none."""
    return Estimate(value, extremes=(float(runs.min()), float(runs.max())) if len(runs) > 1 else None)


def mean(samples: np.ndarray, comparisons: int = 1) -> Estimate:
    """Mean of independent runs, (R,), with Student's interval, which is corrected for several comparisons."""
    value = float(samples.mean())
    if not has_interval(len(samples)):
        return _of_few(value, samples)
    half = float(half_width(samples, comparisons))
    return Estimate(value, value - half, value + half)


def bootstrap_mean(samples: np.ndarray, seed: int = 0) -> Estimate:
    """Mean of independent runs, (R,), with a percentile bootstrap interval.

    It stays within the range of the values, and is somewhat too narrow from few runs: verdicts use `difference`.
    """
    value = float(samples.mean())
    if not has_interval(len(samples)):
        return _of_few(value, samples)
    means = np.clip(resample_weights(len(samples), seed) @ samples, samples.min(), samples.max())  # but for rounding
    return Estimate(value, *percentile_interval(means))


def share(hits: np.ndarray) -> Estimate:
    """Share of runs, (R,) bool, in which something happened, with the exact interval of Clopper and Pearson."""
    count, runs = int(hits.sum()), len(hits)
    if not has_interval(runs):
        return Estimate(count / runs)
    tail = (1 - CONFIDENCE) / 2
    low = float(special.betaincinv(count, runs - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, runs - count, 1 - tail)) if count < runs else 1.0
    return Estimate(count / runs, low, high)


def difference(ours: np.ndarray, other: np.ndarray) -> Estimate:
    """Difference of the means of two independent sets of runs, with Welch's interval."""
    value = float(ours.mean() - other.mean())
    if not has_interval(min(len(ours), len(other))):
        return Estimate(value)
    parts = np.array([ours.var(ddof=1) / len(ours), other.var(ddof=1) / len(other)])
    error = np.sqrt(parts.sum())
    if error == 0:
        return Estimate(value, value, value)
    freedom = parts.sum() ** 2 / (parts**2 / (np.array([len(ours), len(other)]) - 1)).sum()
    half = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2) * error)
    return Estimate(value, value - half, value + half)


def difference_of_means(ours: Estimate, other: Estimate) -> Estimate:
    """Difference of two independent means, from their intervals: half widths add like sides of a right angle."""
    value, half = ours.value - other.value, math.hypot(ours.high - ours.value, other.high - other.value)
    return Estimate(value, value - half, value + half)


def resample_weights(runs: int, seed: int, resamples: int = RESAMPLES) -> np.ndarray:
    """How often each of B bootstrap resamples draws each run, divided by the number of runs, (B, R)."""
    generator = np.random.default_rng(seed)
    return generator.multinomial(runs, np.full(runs, 1 / runs), size=resamples).astype(np.float32) / np.float32(runs)


def percentile_interval(values: np.ndarray, comparisons: int = 1) -> tuple[float, float]:
    """Ends of the middle 95 % of bootstrap values, all of which must be finite; of more, for several comparisons."""
    low, high = _middle(values, comparisons)
    return float(low), float(high)


def _middle(values: np.ndarray, comparisons: int = 1) -> np.ndarray:
    middle = confidence(comparisons)
    return np.quantile(values, [(1 - middle) / 2, (1 + middle) / 2], axis=-1)


def ratio_of_means(numerator: np.ndarray, denominator: np.ndarray, seed: int = 0) -> Estimate:
    """Ratio of two means over all axes, (..., R), with a bootstrap over the runs of each row."""
    numerator, denominator = np.atleast_2d(numerator), np.atleast_2d(denominator)
    value = float(numerator.mean() / denominator.mean())
    if not has_interval(min(numerator.shape[-1], denominator.shape[-1])):
        return Estimate(value)

    def resampled(rows: np.ndarray, first_seed: int) -> np.ndarray:
        weights = [resample_weights(rows.shape[1], first_seed + i) for i in range(len(rows))]
        return np.mean([w @ row for w, row in zip(weights, rows, strict=True)], axis=0)

    ratios = resampled(numerator, seed) / resampled(denominator, seed + len(numerator))
    return Estimate(value, *percentile_interval(ratios))


def iqm_band(strata: Sequence[np.ndarray], seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Interquartile mean over the runs of several environments, with a stratified bootstrap.

    Runs are resampled within each environment, and all environments have the same weight, however many runs they have
    (Agarwal et al., 2021, https://arxiv.org/abs/2108.13264).
    """
    values = np.concatenate(strata)  # (R of all, T)
    share = 1 / len(strata)
    whole = np.concatenate([np.full((len(runs), 1), share / len(runs)) for runs in strata])
    value = _weighted_iqm(values, whole)[:, 0]
    if not has_interval(min(map(len, strata))):
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
    if not has_interval(min(map(len, strata))):
        return _of_few(float(value[0]), np.concatenate(strata))
    return Estimate(float(value[0]), float(low[0]), float(high[0]))


def probability_of_improvement(ours: np.ndarray, other: np.ndarray, seed: int = 0) -> Estimate:
    """Share of pairs of runs in which the value of ours, (R,), exceeds the other's, (Q,); ties count half.

    The bootstrap of the interval draws the runs of both sides independently (Agarwal et al., 2021,
    https://arxiv.org/abs/2108.13264).
    """
    wins = (ours[:, None] > other) + 0.5 * (ours[:, None] == other)  # (R, Q)
    value = float(wins.mean())
    if not has_interval(min(wins.shape)):
        return Estimate(value)
    weights, other_weights = (resample_weights(runs, seed + i) for i, runs in enumerate(wins.shape))
    shares = ((weights @ wins) * other_weights).sum(axis=1)
    shares = np.clip(shares.round(6), 0, 1)  # weights sum to 1 but for rounding, which is no improvement
    return Estimate(value, *percentile_interval(shares))


def paired_ratio(numerator: np.ndarray, denominator: np.ndarray, seed: int = 0, comparisons: int = 1) -> Estimate:
    """Ratio of two means over the same runs, (R,) each; the bootstrap draws both values of a run together.

    The interval is corrected for several comparisons.
    """
    value = float(numerator.mean() / denominator.mean())
    if not has_interval(len(numerator)):
        return Estimate(value)
    weights = resample_weights(len(numerator), seed, RESAMPLES if comparisons == 1 else CORRECTED)
    return Estimate(value, *percentile_interval((weights @ numerator) / (weights @ denominator), comparisons))


@dataclass(frozen=True)
class Agreement:
    """Comparison of our mean with a published mean of which only the number of runs is known."""

    z: float  # difference in standard errors, assuming that the published runs vary as much as ours
    agrees: bool  # whether chance alone causes so large a difference in more than 5 % of repetitions


def agreement(ours: np.ndarray, published_mean: float, published_runs: int) -> Agreement | None:
    """Compare the mean of our runs, (R,), with a published mean; None from few runs."""
    if not has_interval(len(ours)):
        return None
    error = float(ours.std(ddof=1)) * np.sqrt(1 / len(ours) + 1 / published_runs)
    z = float((ours.mean() - published_mean) / error) if error else np.inf
    return Agreement(z, abs(z) <= _t_quantile(len(ours)))
