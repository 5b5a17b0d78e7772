"""Metrics and evaluations of Atari runs, finished or not. Checkpoints are not needed.

Axes: U updates.
"""

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.reading import entries, exists, is_folder, read_json
from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.evaluation import EVALUATION, SUMMARY
from action_balance.runs.rows import TIMING
from action_balance.studies.plan import method_name, run_name
from action_balance.studies.settings_text import flat
from action_balance.web.files import read_table

#: Episodes over which returns are averaged.
RECENT = 100

#: The folder of a study that holds its runs.
RUNS = "runs"


@dataclass(frozen=True)
class Record:
    """A run with one seed."""

    path: Path
    config: TrainConfig
    status: str  # finished, interrupted, failed or running; a killed run stays running
    made_by: Data  # versions, hardware and commit of its last start
    steps: np.ndarray  # (U,), environment steps
    episodes: np.ndarray  # (U,), episodes that ended in each update
    returns: np.ndarray  # (U,), their mean return; nan where none ended
    best: np.ndarray  # (U,), their highest return; nan where none ended
    entropy_added: np.ndarray  # (U,), entropy of softmax(Normalize(r)); nan where it was not recorded
    entropy_bonus: np.ndarray  # (U,), entropy of r / sum(r); nan where it was not recorded
    seconds: float  # duration of all updates; nan where it was not recorded

    @property
    def game(self) -> str:
        """The emulator's name of the game."""
        return self.config.env.short_name

    @property
    def method(self) -> str:
        """Name of the method, with the normalisation of the bonus if it is not the default."""
        return method_name(self.config.agent)

    @property
    def finished(self) -> bool:
        """Whether it made all its updates."""
        return self.status == "finished"

    @property
    def steps_done(self) -> int:
        """Environment steps so far."""
        return int(self.steps[-1]) if len(self.steps) else 0

    @property
    def curve(self) -> np.ndarray:
        """Mean return of the last `RECENT` episodes after each update, (U,)."""
        return recent_mean(self.episodes, self.returns)

    @property
    def final_return(self) -> float:
        """Mean return of the last `RECENT` episodes; nan where none has ended."""
        return float(self.curve[-1]) if len(self.curve) else math.nan

    @property
    def best_return(self) -> float:
        """The highest return of an episode; nan where none has ended."""
        known = self.best[np.isfinite(self.best)]
        return float(known.max()) if len(known) else math.nan

    @property
    def steps_per_second(self) -> float:
        """Mean speed over all updates; nan where it was not recorded."""
        return self.steps_done / self.seconds if self.seconds else math.nan


def recent_mean(episodes: np.ndarray, returns: np.ndarray, count: int = RECENT) -> np.ndarray:
    """Mean return of the last episodes after each update.

    Metrics hold the number of episodes of an update and their mean. Updates are weighted with their episodes, the
    oldest one with as many as complete ``count``. Before ``count`` episodes have ended, all of them are averaged.
    """
    ended = np.cumsum(episodes, dtype=float)
    total = np.cumsum(np.where(episodes > 0, episodes * np.where(episodes > 0, returns, 0), 0), dtype=float)
    before = np.interp(ended - count, np.concatenate([[0.0], ended]), np.concatenate([[0.0], total]))
    weights = np.minimum(ended, count)
    return np.divide(total - before, weights, out=np.full(len(ended), math.nan), where=weights > 0)


def read_record(path: Path) -> Record:
    """Read a run with one seed, finished or not."""
    folder = RunFolder.open(path)
    config = TrainConfig.for_display(folder.config)
    rows = read_metrics(path)
    if [row["update"] for row in rows] != list(range(1, len(rows) + 1)):
        raise UserError(f"{path} has lost part of its metrics: delete that folder to train the run again")
    starts = folder.manifest.get("starts")
    timing = [row.get("steps_per_second", math.nan) for row in read_metrics(path, TIMING)]

    def column(name: str) -> np.ndarray:
        return np.array([row.get(name, math.nan) for row in rows], float)

    return Record(
        path=path,
        config=config,
        status=str(folder.manifest.get("status", "running")),
        made_by=starts[-1] if isinstance(starts, list) and starts and isinstance(starts[-1], dict) else {},
        steps=column("steps"),
        episodes=np.nan_to_num(column("episodes")),
        returns=column("episode_return"),
        best=column("best_return"),
        entropy_added=column("entropy_added"),
        entropy_bonus=column("entropy_bonus"),
        seconds=config.agent.steps_per_update * float(np.sum(1 / np.array(timing))) if timing else math.nan,
    )


def read_records(out: Path, belongs: Callable[[TrainConfig], bool]) -> tuple[list[Record], list[str]]:
    """Read the runs in the folder of a study."""
    records, notes = [], []
    folders = [path for path in entries(out / RUNS) if is_folder(path) and not path.name.startswith(".")]
    for path in folders:
        if not RunFolder.holds_run(path):
            notes.append(f"{path.name} is not a run and was left out")
            continue
        config = TrainConfig.for_display(RunFolder.open(path).config)
        if config.seeds != 1 or path.name != run_name(config) or not belongs(config):
            notes.append(f"{path.name} is a run that does not belong to this study and was left out")
            continue
        record = read_record(path)
        if len(record.steps):
            records.append(record)
    return records, notes


@dataclass(frozen=True)
class Evaluation:
    """The last evaluation of a run."""

    update: int  # the update that was evaluated
    games: int  # games of each action mode
    rooms: dict[str, list[int]]  # rooms visited in each game, by action mode; empty for games without rooms


def read_evaluation(path: Path) -> Evaluation | None:
    """Read the last evaluation of a run; None if it was not evaluated."""
    folder = path / EVALUATION
    if not exists(folder / SUMMARY):  # written last
        return None
    rooms: dict[str, list[int]] = {}
    try:
        summary = read_json(folder / SUMMARY, "the summary of an evaluation")
        update, games = int(summary["checkpoint"]["update"]), int(summary["requested"]["episodes"])
        for row in read_table(folder / "episodes.csv", ()):
            if row.get("rooms"):
                rooms.setdefault(row["mode"], []).append(int(row["rooms"]))
    except (UserError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise UserError(f"{folder} is damaged: evaluate the run again, or delete that folder") from None
    return Evaluation(update, games, rooms)


def common_settings(records: Iterable[Record]) -> Data:
    """The settings that all runs of a study share, as plain data.

    Runs may differ in method and normalisation, which a study compares, and in how the emulators are stepped. Any other
    difference is a `UserError`.
    """
    first: tuple[Path, Data] | None = None
    for record in records:
        settings: Data = json.loads(json.dumps(asdict(record.config.agent)))
        settings.pop("method"), settings.pop("host"), settings.pop("preset"), settings["bonus"].pop("normalize")
        if first is None:
            first = record.path, settings
        elif first[1] != settings:
            ours, theirs = flat(first[1]), flat(settings)
            names = ", ".join(sorted(name for name in ours | theirs if ours.get(name) != theirs.get(name)))
            raise UserError(
                f"{first[0]} and {record.path} differ in {names}: all runs of a study must have the same settings; "
                f"move one of them to another --out"
            )
    return first[1] if first else {}
