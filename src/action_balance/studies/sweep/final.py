"""The best settings of a search, trained again with seeds that had no part in choosing them."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.files import Data
from action_balance.studies import statistics
from action_balance.studies.checks import MAX_SEEDS
from action_balance.studies.run_job import is_finished
from action_balance.studies.statistics import Estimate
from action_balance.studies.sweep.folder import FINAL
from action_balance.studies.sweep.scores import seed_scores
from action_balance.studies.sweep.settings import BASELINE, SweepSettings
from action_balance.studies.sweep.trials import Trial, best
from action_balance.web.format import as_float


@dataclass(frozen=True)
class Final:
    """Settings that are trained with fresh seeds. Axis: S seeds."""

    name: str  # its folder
    values: Mapping[str, Any]  # what it changes
    trial: int | None = None  # that it repeats; None for the settings without any change, unless a trial has the same
    search_score: float = math.nan  # of that trial, which is optimistic: the reason why these settings were chosen
    scores: tuple[float, ...] = ()  # of the fresh seeds; empty before the run is finished

    @property
    def is_known(self) -> bool:
        return bool(self.scores) and all(map(math.isfinite, self.scores))

    @property
    def mean(self) -> Estimate:
        return statistics.bootstrap_mean(np.array(self.scores)) if self.is_known else Estimate(math.nan)

    def more_than(self, other: "Final") -> Estimate:
        if not (self.is_known and other.is_known):
            return Estimate(math.nan)
        return statistics.difference(np.array(self.scores), np.array(other.scores))

    def to_data(self) -> Data:
        return {
            "name": self.name,
            "values": dict(self.values),
            "trial": self.trial,
            "search_score": statistics.number(self.search_score),
            "scores": [statistics.number(score) for score in self.scores],
        }

    @classmethod
    def from_data(cls, data: Data) -> "Final":
        known = {"search_score": as_float(data["search_score"]), "scores": tuple(map(as_float, data["scores"]))}
        made = cls(**{**data, **known})
        fine = isinstance(made.name, str) and isinstance(made.values, dict) and len(made.scores) <= MAX_SEEDS
        if not fine or not isinstance(made.trial, int | None):
            raise ValueError("not the settings of a sweep")
        return made


def choose_finals(settings: SweepSettings, trials: Sequence[Trial]) -> list[Final]:
    """What is trained with fresh seeds: the settings without any change, then the best ones of the search."""
    first, others = Final(BASELINE, {}), []
    chosen = best(trials, settings.search.finalists)
    if not chosen:
        return []
    for trial in chosen:
        if settings.space.apply(settings.base, trial.values) == settings.base:
            first = replace(first, trial=trial.number, search_score=trial.score)
        else:
            others.append(Final(f"trial-{trial.name}", trial.values, trial.number, trial.score))
    return [first, *others]


def config_of(final: Final, settings: SweepSettings) -> TrainConfig:
    return settings.space.apply(settings.fresh, final.values)


def read_scores(final: Final, settings: SweepSettings, out: Path) -> Final:
    """The scores of the fresh seeds, if their run is finished."""
    path, config = out / FINAL / final.name, config_of(final, settings)
    if not is_finished(path, config):
        return replace(final, scores=())
    return replace(final, scores=tuple(seed_scores(path, config, settings.search.metric)[0].tolist()))
