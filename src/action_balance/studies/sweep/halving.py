"""Early stopping by asynchronous successive halving (ASHA, Li et al., 2020), which survives an interrupted sweep.

See https://arxiv.org/abs/1810.05934. A trial that reaches a rung, after a ninth and a third of its training, continues
if it is among the best third of the trials that have reached the rung so far.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ray.tune.schedulers import ASHAScheduler, TrialScheduler

from action_balance.studies.sweep.ledger import Trial
from action_balance.studies.sweep.plan import NUMBER, PART, SCORE
from action_balance.studies.sweep.settings import FIRST_PART, PARTS, REDUCTION

#: The parts after which trials are compared.
RUNGS = tuple(FIRST_PART * REDUCTION**power for power in range(10) if FIRST_PART * REDUCTION**power < PARTS)


@dataclass(frozen=True)
class Recorded:
    """A trial of an earlier process, for the scheduler."""

    trial_id: str
    config: dict[str, Any]


class Halving(ASHAScheduler):
    """ASHA whose rungs hold the scores of all trials of a sweep, also of those from before it was interrupted."""

    def __init__(self, trials: Iterable[Trial] = (), on_stop: Callable[[int], object] = lambda _: None) -> None:
        """Fill the rungs."""
        trials = list(trials)
        self._on_stop, self._replays = on_stop, False
        self._seen: dict[str, int] = {}  # the last part that each trial has reported
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
        self._replays = True
        for part, score in self._recorded.get(trial.config[NUMBER], ()):
            self.on_trial_result(tune_controller, trial, {PART: part, SCORE: score})
        self._replays = False

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Whether a trial continues; one without a score, such as before its first episode has ended, does.

        A trial is compared when it passes a rung, and not later: its score would not be that of the same part.
        """
        part, before = int(result.get(PART, 0)), self._seen.get(trial.trial_id, 0)
        self._seen[trial.trial_id] = max(part, before)
        passes = any(before < rung <= part for rung in RUNGS) or part >= PARTS
        if not passes or not math.isfinite(result.get(SCORE, math.nan)):
            return str(TrialScheduler.CONTINUE)
        decision = str(super().on_trial_result(tune_controller, trial, result))
        if decision == TrialScheduler.STOP and part < PARTS and not self._replays:
            self._on_stop(trial.config[NUMBER])
        return decision

    def on_trial_complete(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> None:
        """A trial has ended."""
        if math.isfinite(result.get(SCORE, math.nan)):
            super().on_trial_complete(tune_controller, trial, result)
