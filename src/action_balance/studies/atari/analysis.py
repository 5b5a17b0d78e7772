"""The paper's Atari study (Section IV-C): returns of three methods in six games (Figure 8, Table II).

Axes: R runs, T updates that all of them have.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from action_balance.config.agent import AgentConfig
from action_balance.studies import statistics
from action_balance.studies.atari.records import AtariRecord
from action_balance.studies.atari.settings import COMPARED
from action_balance.studies.atari.training import PRESET
from action_balance.studies.paper import TABLE_2, TABLE_2_RUNS
from action_balance.studies.statistics import Agreement, Estimate


@dataclass(frozen=True)
class Curve:
    """Mean over runs after each update for which all of them have a return."""

    steps: np.ndarray  # (T,), environment steps of each run
    mean: np.ndarray  # (T,)
    low: np.ndarray  # (T,), of Student's 95 % interval; nan with one run
    high: np.ndarray  # (T,)


@dataclass(frozen=True)
class Condition:
    """The runs of one method in one game."""

    game: str
    method: str
    runs: tuple[AtariRecord, ...]

    @property
    def finished(self) -> tuple[AtariRecord, ...]:
        return tuple(run for run in self.runs if run.finished)

    @property
    def final_returns(self) -> np.ndarray:
        """Final returns of the finished runs in which an episode has ended, (R,)."""
        returns = np.array([run.final_return for run in self.finished])
        return returns[np.isfinite(returns)]

    @property
    def final(self) -> Estimate | None:
        """Mean final return of the finished runs; None without any."""
        return statistics.mean(self.final_returns) if len(self.final_returns) else None

    @property
    def under_way(self) -> tuple[AtariRecord, ...]:
        """The unfinished runs in which an episode has ended; all unfinished runs if none has."""
        unfinished = tuple(run for run in self.runs if not run.finished)
        return tuple(run for run in unfinished if math.isfinite(run.final_return)) or unfinished

    @property
    def so_far(self) -> float:
        """Mean current return of the runs under way; nan without any."""
        return float(np.mean([run.final_return for run in self.under_way])) if self.under_way else math.nan

    @property
    def so_far_steps(self) -> tuple[int, int] | None:
        """Fewest and most environment steps of the runs under way; None without any."""
        steps = [run.steps_done for run in self.under_way]
        return (min(steps), max(steps)) if steps else None

    @property
    def fewest_episodes(self) -> int | None:
        """Fewest episodes of a run behind the final return, or else the return so far; None without any."""
        counts = [int(run.episodes.sum()) for run in self.finished or self.under_way]
        return min((count for count in counts if count), default=None)

    @property
    def curve(self) -> Curve:
        """Curve of the finished runs; if none is finished, of all, as far as all of them go."""
        return mean_curve(self.finished or self.runs)

    def agreement(self) -> Agreement | None:
        """Our mean compared with the paper's; None where they are not comparable."""
        published = TABLE_2.get(self.game, {}).get(self.method)
        if published is None or len(self.final_returns) < 2 or not as_in_paper(self.runs[0].config.agent):
            return None
        if not self.final_returns.std():
            return None  # equal returns, as of runs that never scored, do not show how large the noise is
        return statistics.agreement(self.final_returns, published, TABLE_2_RUNS)


def mean_curve(runs: Sequence[AtariRecord]) -> Curve:
    common = min(len(run.steps) for run in runs)
    values = np.stack([run.curve[:common] for run in runs])  # (R, T)
    known = np.isfinite(values).all(axis=0)
    return Curve(runs[0].steps[:common][known], *statistics.mean_band(values[:, known]))


def as_in_paper(agent: AgentConfig) -> bool:
    """Whether an agent is trained as the paper's, so that returns are comparable; precision and lag may differ."""
    return replace(
        agent, method=PRESET.method, exploration=replace(agent.exploration, normalize=None), host=PRESET.host
    ) == replace(PRESET, network=replace(PRESET.network, precision=agent.network.precision))


def conditions(records: Iterable[AtariRecord]) -> list[Condition]:
    """Group runs by game and method: the paper's games and methods in its order, then others."""
    found: dict[tuple[str, str], list[AtariRecord]] = {}
    for record in records:
        found.setdefault((record.game, record.method), []).append(record)
    order = [*TABLE_2, *sorted({game for game, _ in found} - set(TABLE_2))]
    methods = [*COMPARED, *sorted({method for _, method in found} - set(COMPARED))]
    return [
        Condition(game, method, tuple(sorted(found[game, method], key=lambda run: run.config.seed)))
        for game in order
        for method in methods
        if (game, method) in found
    ]


def difference(ours: Condition, other: Condition) -> Estimate | None:
    """Final return of one method minus that of another in the same game; None where one has no finished run."""
    if not len(ours.final_returns) or not len(other.final_returns):
        return None
    return statistics.difference(ours.final_returns, other.final_returns)
