"""The trials of a sweep in Optuna's journal: a file to which all processes append, on storage that they share.

Which combination comes next is proposed by Optuna's tree-structured Parzen estimator (TPE). A trial is stopped early by
asynchronous successive halving (ASHA, Li et al., 2020, https://arxiv.org/abs/1810.05934): it continues after a ninth
and after a third of its training if it is among the best third of those that have come that far.
"""

import contextlib
import math
import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.pruners import NopPruner, SuccessiveHalvingPruner
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from optuna.trial import TrialState, create_trial

from action_balance.studies.sweep import KIND
from action_balance.studies.sweep.settings import PARTS, REDUCTION, SweepSettings
from action_balance.studies.sweep.space import Choice, Space
from action_balance.studies.sweep.trials import Status, Trial

#: Proposals in a row that repeat a trial, after which a combination is drawn at random from those that are left.
REPEATS = 20

#: Most combinations that are listed to draw from.
MAX_LISTED = 100_000

#: The attribute of a trial that says what `Trial` has beyond Optuna's trials.
ABOUT = "about"

STATUS: dict[TrialState, Status] = {TrialState.COMPLETE: "finished", TrialState.PRUNED: "stopped early"}


class Journal:
    """The trials that were begun. One process adds trials, and many say how theirs go."""

    def __init__(self, path: Path, early_stopping: bool) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._storage = JournalStorage(JournalFileBackend(str(path)))
        pruner = SuccessiveHalvingPruner(min_resource=1, reduction_factor=REDUCTION) if early_stopping else NopPruner()
        chosen: dict[str, Any] = {"study_name": KIND, "storage": self._storage, "pruner": pruner}
        try:
            self._study = optuna.load_study(**chosen)
        except KeyError:
            self._study = optuna.create_study(direction="maximize", **chosen)

    def frozen(self) -> list[optuna.trial.FrozenTrial]:
        return self._study.get_trials(deepcopy=False)

    def trials(self, settings: SweepSettings) -> list[Trial]:
        """All trials; a ``ValueError`` if they belong to another sweep."""
        found = [_trial(one, settings) for one in self.frozen()]
        if any({*one.values} != {*settings.space.names} for one in found):
            raise ValueError("trials of another sweep")
        return found

    def add(self, space: Space, values: Mapping[str, Any], invalid: str = "") -> None:
        """A new trial; one that is ``invalid`` for a reason has ended."""
        about = {"status": "invalid", "reason": invalid} if invalid else {}
        state = TrialState.FAIL if invalid else TrialState.RUNNING
        chosen: dict[str, Any] = {"params": dict(values), "distributions": _distributions(space)}
        self._study.add_trial(create_trial(state=state, user_attrs={ABOUT: about}, **chosen))

    def works(self) -> bool:
        return any(one.intermediate_values or one.state == TrialState.COMPLETE for one in self.frozen())

    def has_ended(self, number: int) -> bool:
        return self.frozen()[number].state.is_finished()

    def stops_early(self, number: int, part: int, score: float, updates: int, seconds: float) -> bool:
        """Keep the score of a trial after a part of its training; whether it ends there, because others are better."""
        self.note(number, updates=updates, seconds=seconds)
        trial = self._open(number)
        if part not in self.frozen()[number].intermediate_values:  # as it is in a process that continues a lost one
            trial.report(score, part)
        if not trial.should_prune():
            return False
        self._study.tell(number, state=TrialState.PRUNED, skip_if_finished=True)
        return True

    def finish(self, number: int, score: float, updates: int, seconds: float) -> None:
        self.note(number, updates=updates, seconds=seconds)
        self._study.tell(number, score, skip_if_finished=True)

    def fail(self, number: int, reason: str) -> None:
        """A trial has failed for good if others work; otherwise it is tried again when the sweep is continued."""
        self.note(number, status="failed", reason=reason)
        if self.works():
            self._study.tell(number, state=TrialState.FAIL, skip_if_finished=True)

    def note(self, number: int, **about: Any) -> None:
        if self.has_ended(number):
            return
        trial = self._open(number)
        trial.set_user_attr(ABOUT, {**trial.user_attrs.get(ABOUT, {}), **about})

    def _open(self, number: int) -> optuna.Trial:
        study = self._storage.get_study_id_from_name(KIND)
        return optuna.Trial(self._study, self._storage.get_trial_id_from_study_id_trial_number(study, number))


def mend(path: Path) -> None:
    """Drop a last line that is not complete, such as after a power cut: Optuna could not read what follows it."""
    lock = JournalFileSymlinkLock(str(path))
    with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
        lock.acquire()
        try:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)
        finally:
            lock.release()


def propose(space: Space, seed: int, trials: Sequence[optuna.trial.FrozenTrial]) -> dict[str, Any] | None:
    """A combination that was not tried; None if all were."""
    tried = {space.key(one.params) for one in trials}
    if len(tried) >= space.size:
        return None
    seed = (seed + len(trials)) % 2**32
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.add_trials(trials)
    for _ in range(REPEATS):
        asked = study.ask(_distributions(space))
        values = space.nearest(asked.params)
        if space.key(values) not in tried:
            return values
        study.tell(asked, state=TrialState.FAIL)  # a repetition says nothing new
    if space.size > MAX_LISTED:
        return None
    return random.Random(seed).choice([one for one in space.combinations() if space.key(one) not in tried])


def _trial(found: optuna.trial.FrozenTrial, settings: SweepSettings) -> Trial:
    about: dict[str, Any] = found.user_attrs.get(ABOUT, {})
    part, score = max(found.intermediate_values.items(), default=(0, math.nan))
    if found.state == TrialState.COMPLETE:
        part, score = PARTS, found.values[0]
    ended = {"status": STATUS[found.state]} if found.state in STATUS else {}
    data = {**Trial(found.number, dict(found.params), score=score, part=part).to_data(), **about, **ended}
    return Trial.from_data({**data, "steps": settings.base.agent.steps_at(data["updates"])})


def _distributions(space: Space) -> dict[str, BaseDistribution]:
    found: dict[str, BaseDistribution] = {}
    for axis in space.axes:
        if isinstance(axis, Choice):
            found[axis.name] = CategoricalDistribution(axis.values)
        elif axis.whole:
            found[axis.name] = IntDistribution(int(axis.low), int(axis.high), log=axis.log)
        else:
            found[axis.name] = FloatDistribution(axis.low, axis.high, log=axis.log)
    return found
