"""The trials of a sweep, as its ``summary.json`` keeps them, and their ranking."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from action_balance.config.train import TrainConfig
from action_balance.files import Data
from action_balance.runs import RunFolder
from action_balance.studies.statistics import number
from action_balance.studies.sweep.scores import Points, ScoreReader
from action_balance.studies.sweep.settings import PARTS
from action_balance.studies.sweep.space import Space
from action_balance.web.format import as_float

#: Where the manifest of a run has that its sweep has stopped it early.
STOPPED_EARLY = "stopped_early_by_sweep"

#: How a trial ended. ``running``: it has not ended, and is continued. ``crashed``: its process has died too often; it
#: is tried again when the sweep is continued. ``invalid``: the checks of the settings refuse the combination.
Status = Literal["running", "finished", "stopped", "failed", "crashed", "invalid"]

#: What these are called in tables.
STATUS_NAMES: dict[Status, str] = {
    "running": "running",
    "finished": "finished",
    "stopped": "stopped early",
    "failed": "failed",
    "crashed": "crashed",
    "invalid": "invalid",
}


@dataclass(frozen=True)
class Trial:
    """One combination of values, and what became of it."""

    number: int
    """From 0 on."""
    values: Mapping[str, Any]
    """Values of the settings that vary."""
    status: Status = "running"
    score: float = math.nan
    """Mean score of its seeds so far; nan where it is unknown."""
    points: Points = ()
    """Its scores after parts of the training."""
    updates: int = 0
    """Updates so far."""
    steps: int = 0
    """Environment steps of each seed so far."""
    seconds: float = 0.0
    """Duration of its updates."""
    reason: str = ""
    """Why it failed, or why it is invalid."""

    @property
    def name(self) -> str:
        """Its folder."""
        return f"{self.number:04}"

    @property
    def ended(self) -> bool:
        """Whether there is nothing left to train."""
        return self.status not in ("running", "crashed")

    @property
    def part(self) -> int:
        """The last part of the training that is done."""
        return PARTS if self.status == "finished" else max((part for part, _ in self.points), default=0)

    def to_data(self) -> Data:
        """As plain data."""
        return {
            "number": self.number,
            "values": dict(self.values),
            "status": self.status,
            "score": number(self.score),
            "points": [[part, number(score)] for part, score in self.points],
            "updates": self.updates,
            "steps": self.steps,
            "seconds": round(self.seconds, 3),
            "reason": self.reason,
        }

    @classmethod
    def from_data(cls, data: Data) -> "Trial":
        """The trial that `to_data` has stored."""
        points = tuple((int(part), as_float(score)) for part, score in data["points"])
        made = cls(**{**data, "score": as_float(data["score"]), "points": points})
        counts = made.number, made.updates, made.steps
        fine = all(type(one) is int and one >= 0 for one in counts) and isinstance(made.seconds, int | float)
        fine = fine and made.status in STATUS_NAMES and isinstance(made.values, dict) and isinstance(made.reason, str)
        if not fine:
            raise ValueError("not a trial")
        return made


def ranked(trials: Iterable[Trial]) -> list[Trial]:
    """Trials with a score, the best first.

    Finished trials come first. The others are ordered by how far they were trained, then by their score: scores after
    different parts of the training cannot be compared. Of equal trials, the first comes first.
    """
    known = [one for one in trials if one.status in ("finished", "stopped") and math.isfinite(one.score)]
    return sorted(known, key=lambda one: (one.status != "finished", -one.part, -one.score, one.number))


def best(trials: Iterable[Trial], count: int) -> list[Trial]:
    """The finished trials with the highest scores."""
    return [one for one in ranked(trials) if one.status == "finished"][:count]


def columns(space: Space, metric: str) -> tuple[str, ...]:
    """The header of ``sweep.csv``."""
    return ("trial", *space.names, metric, "rank", "status", "updates", "steps", "seconds", "reason")


def rows(trials: Sequence[Trial], space: Space) -> list[list[object]]:
    """The rows of ``sweep.csv``."""
    ranks = {one.number: place for place, one in enumerate(ranked(trials), start=1)}
    found: list[list[object]] = []
    for one in trials:
        found.append([one.number, *(one.values[name] for name in space.names), one.score, ranks.get(one.number, "")])
        found[-1] += [STATUS_NAMES[one.status], one.updates, one.steps, round(one.seconds, 1), one.reason]
    return found


@dataclass
class Ledger:
    """All trials so far. Every change is kept on the disk before anything follows from it."""

    keep: Callable[[], None]
    """Writes the trials."""
    trials: list[Trial] = field(default_factory=list)

    def add(self, values: Mapping[str, Any], status: Status = "running", reason: str = "") -> Trial:
        """A new trial."""
        self.trials.append(Trial(len(self.trials), dict(values), status, reason=reason))
        self.keep()
        return self.trials[-1]

    def change(self, trial: int, **changes: Any) -> Trial:
        """What has become of a trial."""
        self.trials[trial] = replace(self.trials[trial], **changes)
        self.keep()
        return self.trials[trial]

    def note(self, trial: int, **changes: Any) -> Trial:
        """How far a trial is; its run has this as well, so that it need not be kept."""
        self.trials[trial] = replace(self.trials[trial], **changes)
        return self.trials[trial]

    @property
    def unfinished(self) -> list[Trial]:
        """Trials that have not ended."""
        return [one for one in self.trials if not one.ended]

    @property
    def best(self) -> Trial | None:
        """The finished trial with the highest score."""
        return next(iter(best(self.trials, 1)), None)


def recovered(trial: Trial, folder: Path, config: TrainConfig, metric: str) -> Trial:
    """What the run of a trial says of it, whose end nobody may have seen."""
    if trial.ended or not RunFolder.holds_run(folder):
        return replace(trial, status="running", points=(), score=math.nan, updates=0) if not trial.ended else trial
    run, reader = RunFolder.open(folder), ScoreReader(folder, config, metric)
    reader.read()
    measured = reader.measured()
    status: Status = "running"
    if run.manifest.get("status") == "finished":
        status = "finished"
    elif run.manifest.get(STOPPED_EARLY):
        status = "stopped"
    return replace(
        trial,
        status=status,
        points=reader.points(),
        score=measured.score,
        updates=measured.updates,
        steps=measured.steps,
        seconds=measured.seconds,
        reason="",
    )
