"""Metrics and evaluations of Atari runs, finished or not. Checkpoints are not needed. Axes: U updates."""

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.reading import exists, read_json
from action_balance.runs.evaluation import EVALUATION, SUMMARY
from action_balance.studies.atari.training import method_name
from action_balance.studies.records import Arrays, RunRecord, metric_columns, update_seconds
from action_balance.studies.settings_text import flat
from action_balance.web.files import read_table

#: Episodes over which returns are averaged.
RECENT = 100


@dataclass(frozen=True)
class AtariRecord(RunRecord):
    """A run with one seed."""

    steps: Float[np.ndarray, " U"]  # environment steps
    episodes: Float[np.ndarray, " U"]  # episodes that ended in each update
    returns: Float[np.ndarray, " U"]  # their mean return; nan where none ended
    best: Float[np.ndarray, " U"]  # their highest return; nan where none ended
    entropy_added: Float[np.ndarray, " U"]  # entropy of softmax(Normalize(r)); nan where it was not recorded
    entropy_bonus: Float[np.ndarray, " U"]  # entropy of r / sum(r); nan where it was not recorded
    seconds: float  # duration of all updates; 0 where it was not recorded

    @property
    def game(self) -> str:
        return self.config.env.short_name

    @property
    def method(self) -> str:
        """Name of the method, with the normalisation of the bonus if it is not the default."""
        return method_name(self.config.agent)

    @property
    def steps_done(self) -> int:
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

    @classmethod
    def extract(cls, path: Path, config: TrainConfig) -> Arrays:
        names = ("steps", "episodes", "episode_return", "best_return", "entropy_added", "entropy_bonus")
        steps, episodes, returns, best, added, bonus = (
            column[0] for column in metric_columns(path, config, names).values()
        )
        return {
            **{"steps": steps, "episodes": np.nan_to_num(episodes), "returns": returns, "best": best},
            **{"entropy_added": added, "entropy_bonus": bonus},
            "seconds": np.array(update_seconds(path, config).sum()),
        }


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


@dataclass(frozen=True)
class RunEvaluation:
    """The last evaluation of a run."""

    update: int  # the update that was evaluated
    games: int  # games of each action mode
    rooms: dict[str, list[int]]  # rooms visited in each game, by action mode; empty for games without rooms


def read_evaluation(path: Path) -> RunEvaluation | None:
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
    return RunEvaluation(update, games, rooms)


def common_settings(records: Iterable[AtariRecord]) -> Data:
    """The settings that all runs of a study share, as plain data.

    Runs may differ in method and normalisation, which a study compares, and in how the emulators are stepped. Any other
    difference is a `UserError`.
    """
    first: tuple[Path, Data] | None = None
    for record in records:
        settings: Data = json.loads(json.dumps(asdict(record.config.agent)))
        settings.pop("method"), settings.pop("host"), settings.pop("preset"), settings["exploration"].pop("normalize")
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
