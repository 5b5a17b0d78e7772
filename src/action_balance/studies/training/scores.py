"""The scores of training runs: how they end, and what these seeds prove.

Axes: U updates, S seeds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from action_balance.files import Data
from action_balance.runs import Place, learning_curve, read_numbers
from action_balance.runs.metrics import KEYS
from action_balance.runs.rows import TIMING
from action_balance.studies import statistics
from action_balance.studies.lead import find_lead
from action_balance.studies.training.data import Group, read_table, status_of
from action_balance.web.format import decimals

#: The metrics that scores are made of.
SCORED = ("episode_return", "best_return", "states")


@dataclass(frozen=True)
class Score:
    """How the runs of a group have ended, or where they are."""

    label: str
    method: str
    seeds: int
    steps: int  # per seed
    final: np.ndarray  # return of each seed that has finished an episode, (S,); a seed of several runs counts once
    best: float  # the highest return of an episode, of all seeds
    states: float  # distinct states reached, mean over seeds; nan where they are not counted
    cells: int | None  # states that the environment has, where it has a map
    seconds: float  # of training, of all runs together
    rate: float  # steps per second, of all seeds of a run together, without the first update, which compiles
    ended: bool  # whether all runs are finished

    @property
    def mean(self) -> float:
        return float(self.final.mean()) if len(self.final) else math.nan


def score(group: Group, names: Sequence[str], table: np.ndarray) -> Score:

    def column(name: str) -> np.ndarray:
        return table[..., names.index(name)].T  # (S, U)

    updates, seeds, _ = table.shape
    final = (
        learning_curve.final_mean(learning_curve.carried_forward(column("episode_return"))) if updates else np.empty(0)
    )
    final = final[np.sort(np.unique(group.numbers, return_index=True)[1])] if updates else final
    returns = np.concatenate([column("best_return"), column("episode_return")])
    states = column("states")[:, -1] if updates and column("states").any() else np.array([math.nan])
    seconds, rate = _timing(group)
    known = bool(np.isfinite(states).any())
    return Score(
        label=group.label,
        method=group.method,
        seeds=seeds,
        steps=int(table[-1, 0, names.index(KEYS[2])]) if updates else 0,
        final=final[np.isfinite(final)],
        best=float(returns[np.isfinite(returns)].max(initial=-math.inf)),
        states=float(states[np.isfinite(states)].mean()) if known else math.nan,
        cells=_cells(group, states) if known else None,
        seconds=seconds,
        rate=rate,
        ended=all(status_of(run) == "finished" for run in group.runs),
    )


def read_scores(groups: Sequence[Group]) -> list[Score]:
    names = (*KEYS, *SCORED)
    return [score(group, names, read_table(group.runs, names)[0]) for group in groups]


def _cells(group: Group, states: np.ndarray) -> int | None:
    """The cells of the environment's map that are not walls, unless more states than that were reached."""
    scene = group.configs[0].scene()
    cells = int((~scene.world.walls).sum()) if scene else 0
    return cells if cells >= states[np.isfinite(states)].max() else None


def _timing(group: Group) -> tuple[float, float]:
    seconds = steps = later = 0.0
    for run in group.runs:
        assert run.config is not None
        rows, _ = read_numbers(run.path / TIMING, Place(), ("steps_per_second",))
        speeds = rows[:, 0]
        size = run.config.agent.steps_per_update * run.config.seeds
        took = size / np.where(speeds > 0, speeds, math.inf)
        seconds += float(took.sum())
        steps += size * int((took[1:] > 0).sum())
        later += float(took[1:].sum())
    return seconds or math.nan, steps / later if later else math.nan


def compared(scores: Sequence[Score]) -> Data:
    known = sorted((one for one in scores if len(one.final)), key=lambda one: -one.mean)
    estimates = [statistics.bootstrap_mean(one.final) for one in known]
    widths = [high - low for low, high in (one.spread_ends for one in estimates)]
    digits = decimals([one.mean for one in known], widths)
    lead = find_lead({one.label: one.final for one in known}, digits)
    steps = sorted({one.steps for one in known})
    bold = lead.leaders if lead and lead.certain and len(steps) == 1 else ()
    rows = [_row(one, final) for one, final in zip(known, map(statistics.to_data, estimates), strict=True)]
    return {
        "rows": [
            row | {"best_of_all": row["label"] in bold}
            for row in (*rows, *(_row(one, None) for one in scores if not len(one.final)))
        ],
        "digits": digits,
        "lead": lead.to_data() if lead else None,
        "steps": steps,
        "without": [one.label for one in scores if not len(one.final)],
        "ended": all(one.ended for one in scores),
    }


def _row(one: Score, final: Data | None) -> Data:
    best = one.best if math.isfinite(one.best) else math.nan
    plain = {name: getattr(one, name) for name in ("label", "method", "seeds", "steps", "cells")}
    numbers = {"best": best, "states": one.states, "seconds": one.seconds, "rate": one.rate}
    known = {name: statistics.number(value) for name, value in numbers.items()}
    return {**plain, "known": len(one.final), "final": final, **known}
