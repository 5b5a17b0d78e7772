"""Which combination to try next: Optuna's tree-structured Parzen estimator (TPE), without repetitions."""

import math
import random
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from action_balance.studies.sweep.ledger import Trial
from action_balance.studies.sweep.space import Choice, Space

if TYPE_CHECKING:
    import optuna

#: Proposals in a row that repeat a trial, after which a combination is drawn at random from those that are left.
REPEATS = 20

#: Most combinations that are listed to draw from.
MAX_LISTED = 100_000


class Sampler:
    """Proposes combinations of values; it knows the scores of all trials that have ended."""

    def __init__(self, space: Space, seed: int, trials: Iterable[Trial] = ()) -> None:
        """Begin, or continue where a sweep was interrupted."""
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        trials = list(trials)
        self._space = space
        self._random = random.Random(seed + len(trials))
        self._distributions = _distributions(space)
        sampler = optuna.samplers.TPESampler(seed=(seed + len(trials)) % 2**32)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._open: dict[int, optuna.Trial] = {}
        self._scores: dict[str, float] = {}  # of all combinations that were tried; nan while it is unknown
        for trial in trials:
            self._scores[space.key(trial.values)] = math.nan
            if trial.ended:
                self._begin(trial.number, trial.values)
                self.tell(trial)

    @property
    def is_exhausted(self) -> bool:
        """Whether all combinations were tried."""
        return len(self._scores) >= self._space.size

    def ask(self, number: int) -> dict[str, Any] | None:
        """Propose a combination that was not tried."""
        if self.is_exhausted:
            return None
        for _ in range(REPEATS):
            asked = self._study.ask(self._distributions)
            values = self._space.nearest(asked.params)
            if (key := self._space.key(values)) not in self._scores:
                self._open[number], self._scores[key] = asked, math.nan
                return values
            self._close(asked, "failed", math.nan)  # a repetition says nothing new
        return self._any_left(number)

    def again(self, trial: Trial) -> None:
        """A trial that has not ended continues."""
        self._scores[self._space.key(trial.values)] = math.nan
        self._begin(trial.number, trial.values)

    def tell(self, trial: Trial) -> None:
        """A trial has ended, and its score is used from now on."""
        asked = self._open.pop(trial.number)
        for part, score in trial.points:
            if math.isfinite(score):
                asked.report(score, part)
        if trial.status in ("finished", "stopped"):
            self._scores[self._space.key(trial.values)] = trial.score
        self._close(asked, trial.status, trial.score)

    def _any_left(self, number: int) -> dict[str, Any] | None:
        if self._space.size > MAX_LISTED:
            return None
        left = [one for one in self._space.combinations() if self._space.key(one) not in self._scores]
        values = self._random.choice(left)
        self._scores[self._space.key(values)] = math.nan
        self._begin(number, values)
        return values

    def _begin(self, number: int, values: Mapping[str, Any]) -> None:
        self._study.enqueue_trial(dict(values))
        self._open[number] = self._study.ask(self._distributions)

    def _close(self, asked: "optuna.Trial", status: str, score: float) -> None:
        """Tell Optuna: a trial that was stopped early is ranked by how far it came, as in its own pruning."""
        from optuna.trial import TrialState

        if status == "stopped":
            self._study.tell(asked, state=TrialState.PRUNED)
        elif status == "finished" and math.isfinite(score):
            self._study.tell(asked, score)
        else:
            self._study.tell(asked, state=TrialState.FAIL)


def _distributions(space: Space) -> "dict[str, optuna.distributions.BaseDistribution]":
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    found: dict[str, BaseDistribution] = {}
    for axis in space.axes:
        if isinstance(axis, Choice):
            found[axis.name] = CategoricalDistribution(axis.values)
        elif axis.whole:
            found[axis.name] = IntDistribution(int(axis.low), int(axis.high), log=axis.log)
        else:
            found[axis.name] = FloatDistribution(axis.low, axis.high, log=axis.log)
    return found
