"""Early stopping by asynchronous successive halving (ASHA, Li et al., 2020), which survives an interrupted sweep.

See https://arxiv.org/abs/1810.05934. A trial that reaches a rung, after a ninth and a third of its training, continues
if it is among the best third of the trials that have reached the rung so far.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ray.tune.schedulers import ASHAScheduler, TrialScheduler

from action_balance.studies.sweep.ledger import Trial
from action_balance.studies.sweep.plan import NUMBER, PART, SCORE
from action_balance.studies.sweep.settings import FIRST_PART, PARTS, REDUCTION


@dataclass(frozen=True)
class Recorded:
    """A trial of an earlier process, for the scheduler."""

    trial_id: str
    config: dict[str, Any]


class Halving(ASHAScheduler):
    """ASHA whose rungs hold the scores of all trials of a sweep, also of those from before it was interrupted."""

    def __init__(self, trials: Iterable[Trial] = ()) -> None:
        """Fill the rungs.

        Args:
            trials: the trials so far.
        """
        super().__init__(
            time_attr=PART,
            metric=SCORE,
            mode="max",
            max_t=PARTS,
            grace_period=FIRST_PART,
            reduction_factor=REDUCTION,
        )
        self._recorded = {trial.number: trial.points for trial in trials}
        for trial in trials:
            if trial.ended:
                self.on_trial_add(None, Recorded(f"recorded-{trial.number}", {NUMBER: trial.number}))

    def on_trial_add(self, tune_controller: Any, trial: Any) -> None:
        """A trial begins, or continues: the rungs that it has passed know it."""
        super().on_trial_add(tune_controller, trial)
        for part, score in self._recorded.get(trial.config[NUMBER], ()):
            self.on_trial_result(tune_controller, trial, {PART: part, SCORE: score})

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Whether a trial continues; one without a score, such as before its first episode has ended, does."""
        if not math.isfinite(result.get(SCORE, math.nan)):
            return str(TrialScheduler.CONTINUE)
        return str(super().on_trial_result(tune_controller, trial, result))

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> None:
        """A trial has ended."""
        if math.isfinite(result.get(SCORE, math.nan)):
            super().on_trial_complete(tune_controller, trial, result)
