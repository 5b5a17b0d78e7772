"""When agents solve a task: the first time that their mean return over the last 100 episodes reaches its threshold.

Axes: R agents, U updates.
"""

import math
import warnings

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from action_balance.studies.statistics import CONFIDENCE, Estimate, has_interval

#: Episodes that the mean is over.
EPISODES = 100


def solved_at(
    episodes: Float[np.ndarray, "R U"],
    returns: Float[np.ndarray, "R U"],
    steps: Int[np.ndarray, " U"],
    threshold: float,
) -> Int[np.ndarray, " R"]:
    """Environment steps until the mean return over the last 100 episodes reaches a threshold; -1 where it never does.

    Updates are whole: the mean is over the fewest last updates that have 100 episodes or more.

    Args:
        episodes: Episodes that ended in each update.
        returns: Their mean return; anything without an episode.
        steps: Environment steps until the end of each update.
        threshold: The least mean return of an agent that has solved the task.

    Returns:
        Steps of each agent.
    """
    sums = np.where(episodes > 0, returns, 0) * episodes
    return np.array([_first(*pair, steps, threshold) for pair in zip(episodes, sums, strict=True)], np.int64)


def _first(episodes: np.ndarray, sums: np.ndarray, steps: np.ndarray, threshold: float) -> int:
    count, total = (np.concatenate([[0], np.cumsum(one)]) for one in (episodes, sums))
    begin = np.searchsorted(count, count - EPISODES, side="right") - 1  # the last place with 100 episodes after it
    known = begin >= 0
    mean = (total - total[begin]) / np.maximum(count - count[begin], 1)
    reached = np.flatnonzero(known & (mean >= threshold))
    return int(steps[reached[0] - 1]) if len(reached) else -1


def restricted(solved: Int[np.ndarray, " R"], limit: int) -> Int[np.ndarray, " R"]:
    """Steps until each agent has solved its task; the limit where it never does."""
    return np.where(solved >= 0, solved, limit)


def median(solved: Int[np.ndarray, " R"], limit: int) -> Estimate:
    """Median of the steps that an agent needs, by Kaplan and Meier; infinite beyond the limit, where nobody looked."""
    if (solved < 0).all():
        return Estimate(math.inf, math.inf, math.inf)
    times = stats.CensoredData.right_censored(restricted(solved, limit), solved < 0)
    curve = stats.ecdf(times).cdf
    with warnings.catch_warnings():  # the interval is undefined where all agents have solved their task
        warnings.simplefilter("ignore", RuntimeWarning)
        low, high = curve.confidence_interval(CONFIDENCE, method="log-log")
    half = (curve.quantiles[np.nan_to_num(one.probabilities, nan=1.0) >= 0.5] for one in (curve, high, low))
    value, least, most = (float(found[0]) if len(found) else math.inf for found in half)
    return Estimate(value, least, most) if has_interval(len(solved)) else Estimate(value)


def newest(episodes: Float[np.ndarray, "R U"], returns: Float[np.ndarray, "R U"]) -> Float[np.ndarray, "R U"]:
    """Learning curves: the last known mean return; before the first episode has ended, the first one that is known."""
    ended = episodes > 0
    places = np.maximum.accumulate(np.where(ended, np.arange(ended.shape[1]), -1), axis=1)
    places = np.where(places >= 0, places, ended.argmax(axis=1)[:, None])
    found: np.ndarray = np.nan_to_num(np.take_along_axis(returns, places, axis=1))
    return found


def area(episodes: Float[np.ndarray, "R U"], returns: Float[np.ndarray, "R U"]) -> Float[np.ndarray, " R"]:
    """Area under each learning curve, divided by its length: the mean over updates."""
    mean: np.ndarray = newest(episodes, returns).mean(axis=1)
    return mean
