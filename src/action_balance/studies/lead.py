"""Who leads, by how much, and whether that is certain: the verdict on the scores of several methods.

Axes: S seeds.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from action_balance.files import Data
from action_balance.studies import statistics
from action_balance.studies.statistics import Estimate


@dataclass(frozen=True)
class Lead:
    """The verdict on one environment."""

    leaders: tuple[str, ...]  # the method with the highest mean score; several if their means print the same
    score: float  # their mean score
    second: str | None  # the best of the others; None without any
    difference: Estimate | None  # of the leader to the second; no interval where there are too few seeds
    unclear: tuple[str, ...]  # the others over which the lead, of any leader, is not significant
    fewest: int  # fewest seeds of a method

    @property
    def certain(self) -> bool:
        """Whether the 95 % interval of the difference lies above 0 for every other method."""
        return self.second is not None and not self.unclear

    def to_data(self) -> Data:
        return {
            "leaders": list(self.leaders),
            "score": self.score,
            "second": self.second,
            "difference": statistics.to_data(self.difference),
            "unclear": list(self.unclear),
            "certain": self.certain,
            "fewest_seeds": self.fewest,
        }


def find_lead(scores: Mapping[str, np.ndarray], digits: int) -> Lead | None:
    ranked = sorted((name for name, one in scores.items() if len(one)), key=lambda name: -float(scores[name].mean()))
    if not ranked:
        return None
    means = {name: round(float(scores[name].mean()), digits) for name in ranked}
    leaders = [name for name in ranked if means[name] == means[ranked[0]]]
    others = ranked[len(leaders) :]
    differences = {name: [statistics.difference(scores[leader], scores[name]) for leader in leaders] for name in others}
    return Lead(
        leaders=tuple(leaders),
        score=float(scores[leaders[0]].mean()),
        second=others[0] if others else None,
        difference=differences[others[0]][0] if others else None,
        unclear=tuple(name for name, found in differences.items() if not all(one.low > 0 for one in found)),
        fewest=min(len(scores[name]) for name in ranked),
    )
