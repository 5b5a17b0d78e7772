"""What a sweep has trained: its trials and their ranking, and the best settings again with fresh seeds."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from action_balance.errors import UserError
from action_balance.files import Data, leads_out, load_json, own_file
from action_balance.runs import RunFolder
from action_balance.runs.owned import is_below
from action_balance.runs.results import SUMMARY
from action_balance.studies import statistics
from action_balance.studies.statistics import Estimate, number
from action_balance.studies.sweep import KIND
from action_balance.studies.sweep.settings import BASELINE, SweepSettings
from action_balance.studies.sweep.space import Space
from action_balance.web.format import as_float

#: Folders of a sweep that hold the runs of its trials, and those with fresh seeds.
TRIALS, FINAL = "trials", "final"

#: How a trial ended. ``running``: it has not ended, and is continued. ``stopped early``: others were better.
#: ``invalid``: the checks of the settings refuse the combination.
Status = Literal["running", "finished", "stopped early", "failed", "invalid"]
STATUSES: tuple[Status, ...] = get_args(Status)


@dataclass(frozen=True)
class Trial:
    """One combination of values, and what became of it."""

    number: int  # from 0 on
    values: Mapping[str, Any]  # of the settings that vary
    status: Status = "running"
    score: float = math.nan  # mean over its seeds, the last one that is known
    part: int = 0  # the part of the training after which it has that score
    updates: int = 0
    steps: int = 0  # of each seed
    seconds: float = 0.0  # of its updates
    reason: str = ""  # why it failed, or why it is invalid

    @property
    def name(self) -> str:
        return f"{self.number:04}"

    def to_data(self) -> Data:
        return {**asdict(self), "score": number(self.score)}

    @classmethod
    def from_data(cls, data: Data) -> "Trial":
        return cls(**{**data, "score": as_float(data["score"])})


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Trials with a score, the best first.

    Finished trials come first. The others are ordered by how far they were trained, then by their score: scores after
    different parts of the training cannot be compared. Of equal trials, the first comes first.
    """
    known = [one for one in trials if one.status in ("finished", "stopped early") and math.isfinite(one.score)]
    return sorted(known, key=lambda one: (one.status != "finished", -one.part, -one.score, one.number))


def best(trials: Iterable[Trial], count: int) -> list[Trial]:
    return [one for one in ranked(trials) if one.status == "finished"][:count]


def table(trials: Sequence[Trial], space: Space, metric: str) -> tuple[Sequence[str], list[list[object]]]:
    """Header and rows of all trials."""
    ranks = {one.number: place for place, one in enumerate(ranked(trials), start=1)}
    rows: list[list[object]] = []
    for one in trials:
        rows.append([one.number, *(one.values[name] for name in space.names), one.score, ranks.get(one.number, "")])
        rows[-1] += [one.status, one.updates, one.steps, round(one.seconds, 1), one.reason]
    return ("trial", *space.names, metric, "rank", "status", "updates", "steps", "seconds", "reason"), rows


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
        return {**asdict(self), "search_score": number(self.search_score), "scores": [*map(number, self.scores)]}

    @classmethod
    def from_data(cls, data: Data) -> "Final":
        known = {"search_score": as_float(data["search_score"]), "scores": tuple(map(as_float, data["scores"]))}
        return cls(**{**data, **known})


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


def final_runs(path: Path) -> list[Path] | None:
    """The runs with fresh seeds of a sweep; None for another folder."""
    summary = load_json(own_file(path, SUMMARY)) or {}
    if summary.get("kind") != KIND:
        return None
    try:
        runs = [path / FINAL / one["name"] for one in summary["ours"]["finals"] if is_below(one["name"])]
    except (KeyError, TypeError, AttributeError):
        runs = []
    found = [run for run in runs if not leads_out(path, run) and RunFolder.holds_run(run)]
    if not found:
        raise UserError(
            f"{path} is a sweep whose best settings are not trained with fresh seeds yet: continue it with the same "
            f"command, or give runs in {path / TRIALS}"
        )
    return found


def sweep_metric(path: Path) -> str | None:
    """The metric that a sweep maximises; None if its folder does not say."""
    settings = (load_json(own_file(path, SUMMARY)) or {}).get("settings")
    found = settings.get("metric") if isinstance(settings, dict) else None
    return found if isinstance(found, str) else None
