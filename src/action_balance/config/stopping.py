"""Conditions under which a run ends before all its steps are made, such as ``return>=0.9``."""

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from action_balance.errors import UserError, check_name

#: Metrics that are numbers, by the names that the rows of a run have. An algorithm has others, and so may a bonus of a
#: user.
METRICS = (
    *("update", "steps", "episodes", "episode_return", "best_return", "first_reward", "entropy_pi", "entropy_beta"),
    *("states", "reward_scale", "epsilon", "bonus_mean", "bonus_scale", "loss_next_state", "inverse_accuracy"),
    *("ngu_distance", "ngu_memory", "hash_states", "hash_collisions", "coin_flip_memory", "action_bonus_mean"),
    *("action_std", "action_clipped"),
    *("entropy_bonus", "entropy_added", "action_coef", "loss_action", "action_hash_states"),
    *("action_hash_collisions", "action_coin_flip_memory", "elliptical_directions", "action_elliptical_directions"),
)
#: Shorter names.
ALIASES = {"return": "episode_return", "score": "episode_return"}

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}
_FORM = re.compile(r"\s*(\w+)\s*(>=|<=|>|<)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*")


@dataclass(frozen=True)
class StopCondition:
    """A metric compared with a number."""

    text: str  # as it was written
    metric: str
    comparison: str
    value: float

    @classmethod
    def parse(cls, text: str, own_metrics: bool = False, others: Sequence[str] = ()) -> "StopCondition":
        found = _FORM.fullmatch(text)
        try:
            value = float(found[3]) if found else math.nan
        except ValueError:
            value = math.nan
        if found is None or not math.isfinite(value):
            raise UserError(f'--stop-when "{text:.60}" does not compare a metric with a number, e.g. "return>=0.9"')
        name = ALIASES.get(found[1], found[1])
        if not own_metrics:
            check_name("metric of --stop-when", found[1], (*ALIASES, *METRICS, *others))
        return cls(text, name, found[2], value)

    def holds(self, metrics: Mapping[str, float]) -> bool:
        """Whether the condition holds; never for a number that is not known."""
        if self.metric not in metrics:
            raise UserError(f"this run has no metric {self.metric}: choose from {', '.join(sorted(metrics))}")
        return _COMPARISONS[self.comparison](metrics[self.metric], self.value)


def first_that_holds(conditions: Sequence[StopCondition], metrics: Mapping[str, float]) -> StopCondition | None:
    """The first condition that holds; None while none does."""
    holding = [one for one in conditions if one.holds(metrics)]  # all of them are checked
    return holding[0] if holding else None
