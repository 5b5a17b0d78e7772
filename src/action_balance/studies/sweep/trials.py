"""The trials of a sweep, their ranking, and their table."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from action_balance.files import Data
from action_balance.studies.statistics import number
from action_balance.studies.sweep.space import Space
from action_balance.web.format import as_float

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
        made = cls(**{**data, "score": as_float(data["score"])})
        counts = made.number, made.part, made.updates, made.steps
        fine = all(type(one) is int and one >= 0 for one in counts) and isinstance(made.seconds, int | float)
        fine = fine and made.status in STATUSES and isinstance(made.values, dict) and isinstance(made.reason, str)
        if not fine:
            raise ValueError("not a trial")
        return made


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Trials with a score, the best first.

    Finished trials come first. The others are ordered by how far they were trained, then by their score: scores after
    different parts of the training cannot be compared. Of equal trials, the first comes first.
    """
    known = [one for one in trials if one.status in ("finished", "stopped early") and math.isfinite(one.score)]
    return sorted(known, key=lambda one: (one.status != "finished", -one.part, -one.score, one.number))


def best(trials: Iterable[Trial], count: int) -> list[Trial]:
    return [one for one in ranked(trials) if one.status == "finished"][:count]


def columns(space: Space, metric: str) -> tuple[str, ...]:
    return ("trial", *space.names, metric, "rank", "status", "updates", "steps", "seconds", "reason")


def rows(trials: Sequence[Trial], space: Space) -> list[list[object]]:
    ranks = {one.number: place for place, one in enumerate(ranked(trials), start=1)}
    found: list[list[object]] = []
    for one in trials:
        found.append([one.number, *(one.values[name] for name in space.names), one.score, ranks.get(one.number, "")])
        found[-1] += [one.status, one.updates, one.steps, round(one.seconds, 1), one.reason]
    return found
