"""What Atari runs have left: their metrics, whole or as far as they are. Checkpoints are not needed.

Axes: U updates.
"""

import csv
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from action_balance.config.agent import Config
from action_balance.config.train import TrainConfig
from action_balance.envs.atari.config import AtariConfig
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.runs import RunFolder, read_metrics
from action_balance.runs.folder import EVALUATION, SUMMARY
from action_balance.runs.metrics import TIMING

#: Episodes over which returns are averaged.
RECENT = 100

#: The folder of a study that holds its runs.
RUNS = "runs"


@dataclass(frozen=True)
class Record:
    """One run of one seed."""

    path: Path
    config: TrainConfig
    status: str  # finished, interrupted, failed; running also where a kill left no time to say otherwise
    made_by: Data  # of its last start: versions, hardware, commit
    steps: np.ndarray  # (U,), environment steps
    episodes: np.ndarray  # (U,), that ended in each update
    returns: np.ndarray  # (U,), their mean return; nan where none ended
    best: np.ndarray  # (U,), the highest of them; nan where none ended
    entropy_added: np.ndarray  # (U,), of softmax(Normalize(r)); nan where it was not recorded
    entropy_bonus: np.ndarray  # (U,), of r / sum(r); nan where it was not recorded
    seconds: float  # that the updates took; nan where it was not recorded

    @property
    def game(self) -> str:
        """Its name for the emulator."""
        return self.config.env.short_name

    @property
    def method(self) -> str:
        """Its name, with how the bonus is normalised where that is not the method's usual."""
        return method_name(self.config.agent)

    @property
    def finished(self) -> bool:
        """Whether it has made all its updates."""
        return self.status == "finished"

    @property
    def steps_done(self) -> int:
        """Environment steps so far."""
        return int(self.steps[-1]) if len(self.steps) else 0

    @property
    def curve(self) -> np.ndarray:
        """`recent_mean` of its returns, (U,)."""
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
        """Mean over all updates; nan where it was not recorded."""
        return self.steps_done / self.seconds if self.seconds else math.nan


def method_name(config: Config) -> str:
    """``action-balance-rnd``, or ``action-balance-rnd-raw`` with another normalisation than L2."""
    usual = not config.traits.action or config.bonus.normalize == "l2"
    return config.method if usual else f"{config.method}-{config.bonus.normalize}"


def run_name(config: TrainConfig) -> str:
    """The folder of a run: game, method, seed."""
    return f"{config.env.short_name}-{method_name(config.agent)}-{config.seed}"


def recent_mean(episodes: np.ndarray, returns: np.ndarray, count: int = RECENT) -> np.ndarray:
    """Mean return of the last episodes after each update, (U,); nan before the first has ended.

    Of an update only the number of its episodes and their mean are known. Updates weigh with their episodes; the oldest
    one weighs with as many as complete ``count``. Before so many have ended, it is the mean of all.

    Args:
        episodes: that ended in each update, (U,).
        returns: their mean return, (U,); of no meaning where none ended.
        count: how many episodes are averaged.
    """
    ended = np.cumsum(episodes, dtype=float)
    total = np.cumsum(np.where(episodes > 0, episodes * np.where(episodes > 0, returns, 0), 0), dtype=float)
    before = np.interp(ended - count, np.concatenate([[0.0], ended]), np.concatenate([[0.0], total]))
    weights = np.minimum(ended, count)
    return np.divide(total - before, weights, out=np.full(len(ended), math.nan), where=weights > 0)


def read_record(path: Path) -> Record:
    """A run of one seed, whole or not."""
    folder = RunFolder.open(path)
    config = TrainConfig.from_dict(folder.config)
    rows = read_metrics(path)
    if [row["update"] for row in rows] != list(range(1, len(rows) + 1)):
        raise UserError(f"{path} has lost a part of its metrics: delete that folder, and the run is made anew")
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
    """The runs in the folder of a study that have made an update, and a line for each folder that was left out.

    Args:
        out: the folder of the study.
        belongs: whether a run on Atari is one of the study.
    """
    records, notes = [], []
    folders = sorted(path for path in (out / RUNS).glob("*") if path.is_dir())
    for path in folders:
        if not RunFolder.holds_run(path):
            notes.append(f"{path.name} holds no run and was left out")
            continue
        config = TrainConfig.from_dict(RunFolder.open(path).config)
        usual = isinstance(config.env, AtariConfig) and config.seeds == 1 and path.name == run_name(config)
        if not usual or not belongs(config):
            notes.append(f"{path.name} holds a run that is not of this study and was left out")
            continue
        record = read_record(path)
        if len(record.steps):
            records.append(record)
    return records, notes


@dataclass(frozen=True)
class Evaluation:
    """What a run's last evaluation has left."""

    update: int  # that was evaluated
    games: int  # asked for, for each way of acting
    rooms: dict[str, list[int]]  # seen in each game, by way of acting; empty where the game tells of none


def read_evaluation(path: Path) -> Evaluation | None:
    """Of a run; None where it was not evaluated."""
    folder = path / EVALUATION
    if not (folder / SUMMARY).exists():  # it is written last
        return None
    rooms: dict[str, list[int]] = {}
    try:
        summary = json.loads((folder / SUMMARY).read_bytes())
        update, games = int(summary["checkpoint"]["update"]), int(summary["asked"]["episodes"])
        with open(folder / "episodes.csv", newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                if row.get("rooms"):
                    rooms.setdefault(row["way"], []).append(int(row["rooms"]))
    except (OSError, KeyError, TypeError, ValueError, RecursionError, csv.Error):
        raise UserError(f"{folder} is damaged: evaluate the run again, or delete that folder") from None
    return Evaluation(update, games, rooms)


def common_settings(records: Iterable[Record]) -> Data:
    """The settings that all runs have, as plain data; a `UserError` where they differ in more than a study's runs may.

    Runs may differ in method and normalisation, which are what is compared, and in how the emulators are stepped.
    """
    first: tuple[Path, Data] | None = None
    for record in records:
        settings: Data = json.loads(json.dumps(asdict(record.config.agent)))
        settings.pop("method"), settings.pop("host"), settings["bonus"].pop("normalize")
        if first is None:
            first = record.path, settings
        elif first[1] != settings:
            names = ", ".join(sorted(_differing(first[1], settings)))
            raise UserError(
                f"{first[0]} and {record.path} differ in {names}: runs of one study have the same settings; "
                f"move one of them to another --out"
            )
    return first[1] if first else {}


def _differing(one: Data, other: Data) -> set[str]:
    """Names of the settings that differ."""
    names: set[str] = set()
    for name in one.keys() | other.keys():
        ours, theirs = one.get(name), other.get(name)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            names |= _differing(ours, theirs)
        elif ours != theirs:
            names.add(name)
    return names
