"""Compare training runs: which belong together, their learning curves, and their final scores.

Axes: S seeds of a curve, U updates of a seed, T updates that all seeds of a curve have.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from action_balance.config.agent import AgentConfig
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError, check_name
from action_balance.files import Data
from action_balance.reading import is_file
from action_balance.runs import RunFolder, learning_curve
from action_balance.runs.metrics import KEYS
from action_balance.runs.rows import each_row
from action_balance.studies import statistics
from action_balance.studies.checks import check_once
from action_balance.studies.labels import Names, name_runs
from action_balance.studies.lead import Lead, find_lead
from action_balance.studies.statistics import Estimate, Spread
from action_balance.web.format import decimals

#: Rows of the metrics by seed and update.
Rows = dict[int, dict[int, Data]]

#: Updates for each row of the metrics, if most rows are missing.
GAPS = 100

UNKNOWN = Estimate(math.nan)


@dataclass(frozen=True)
class Seed:
    """One seed of one run."""

    seed: int
    path: Path
    values: np.ndarray  # (U,), the last known value of the metric; nan before the first
    first_reward: float  # environment steps until the first positive reward; inf if there was none
    states: float  # distinct states in the end; 0 where they cannot be counted


@dataclass(frozen=True)
class LearningCurve:
    """The seeds of one environment and one config."""

    label: str
    method: str
    seeds: tuple[int, ...]
    steps: np.ndarray  # (T,), environment steps of each seed
    iqm: np.ndarray  # (T,), interquartile mean of the metric over seeds
    low: np.ndarray  # (T,), lower end of the band; nan with one seed
    high: np.ndarray  # (T,), upper end
    band: Spread | None  # the 95 % interval or, with few seeds, the range of the seeds; None with one seed
    scores: np.ndarray  # (S,), means over the last tenth of the updates; nan where the metric was never known
    first_reward: np.ndarray  # (S,), inf for a seed without any
    states: np.ndarray  # (S,), 0 where they cannot be counted

    @property
    def score_iqm(self) -> Estimate:
        """Interquartile mean of the scores; unknown if the score of a seed is."""
        return statistics.pooled_iqm([self.scores]) if np.isfinite(self.scores).all() else UNKNOWN

    @property
    def score_mean(self) -> Estimate:
        """Mean of the scores; unknown if the score of a seed is."""
        return statistics.bootstrap_mean(self.scores) if np.isfinite(self.scores).all() else UNKNOWN

    @property
    def last_step(self) -> int:
        """Environment steps of each seed at the end of the curve; 0 without any value."""
        return int(self.steps[-1]) if len(self.steps) else 0

    @property
    def never(self) -> int:
        return int(np.isinf(self.first_reward).sum())

    @property
    def first_reward_median(self) -> float:
        """Median steps until the first positive reward; inf if half of the seeds had none."""
        return float(np.median(self.first_reward))

    @property
    def states_mean(self) -> float:
        """Mean number of distinct states in the end; nan where they cannot be counted."""
        return float(self.states.mean()) if self.states.any() else math.nan


@dataclass(frozen=True)
class Comparison:
    """The result. Curves have the same order everywhere."""

    metric: str
    environments: dict[str, tuple[LearningCurve, ...]]  # curves by the label of their environment
    #: Interquartile mean over all environments by curve; empty if there is only one, if a curve is missing in one, or
    #: if their returns have different scales.
    together: dict[str, Estimate]
    baseline: str | None  # the curve that the others are compared with
    notes: tuple[str, ...]  # for the reader, one line each
    titles: dict[str, str] = field(default_factory=dict)  # what headings call the environments, by their labels

    def title(self, environment: str) -> str:
        return self.titles.get(environment, environment)

    @property
    def labels(self) -> list[str]:
        return list(dict.fromkeys(curve.label for curves in self.environments.values() for curve in curves))

    def seeds(self, label: str) -> int:
        return sum(len(one.seeds) for curves in self.environments.values() for one in curves if one.label == label)

    def digits(self, environment: str) -> int:
        return _digits(one for curve in self.environments[environment] for one in (curve.score_iqm, curve.score_mean))

    @property
    def digits_together(self) -> int:
        return _digits(self.together.values())

    def lead(self, environment: str) -> Lead | None:
        """Who leads in an environment; None where no curve has a score."""
        curves = self.environments[environment]
        scores = {curve.label: curve.scores for curve in curves if np.isfinite(curve.scores).all()}
        return find_lead(scores, self.digits(environment))

    def uneven_steps(self, environment: str) -> tuple[int, int] | None:
        """Fewest and most steps per seed of the curves of an environment; None if they are the same."""
        ends = [curve.last_step for curve in self.environments[environment] if curve.last_step]
        return (min(ends), max(ends)) if len(set(ends)) > 1 else None

    def better(self, environment: str, label: str) -> Estimate | None:
        """Probability that a seed of a curve scores higher than one of the baseline; None where it is unknown."""
        scores = {curve.label: curve.scores for curve in self.environments[environment]}
        if self.baseline not in scores or label not in scores or label == self.baseline:
            return None
        ours, other = scores[label], scores[self.baseline]
        if not np.isfinite(np.concatenate([ours, other])).all():
            return None
        return statistics.probability_of_improvement(ours, other)


def _digits(estimates: Iterable[Estimate]) -> int:
    known = [one for one in estimates if math.isfinite(one.value)]
    return decimals((one.value for one in known), (one.spread_ends[1] - one.spread_ends[0] for one in known))


def compare(paths: Sequence[Path], metric: str, baseline: str | None = None) -> Comparison:
    if not paths:
        raise UserError("no runs to compare: give the folders of training runs")
    runs = [_open(path) for path in paths]
    check_once(paths)
    configs = [config for _, config in runs]
    tables = [_read(path, config, metric) for path, config in zip(paths, configs, strict=True)]
    last_rows = [of_seed[max(of_seed)] for rows in tables for of_seed in rows.values()]
    check_name("metric", metric, dict.fromkeys(name for row in last_rows for name in row if name not in KEYS))
    notes: list[str] = []
    groups: dict[Names, tuple[AgentConfig, list[Seed]]] = {}
    for names, (run, config), rows in zip(name_runs(configs), runs, tables, strict=True):
        seeds = [_seed(run.path, seed, of_seed, metric) for seed, of_seed in sorted(rows.items())]
        _add(groups.setdefault(names, (config.agent, []))[1], seeds)
        notes += _unfinished(run, max(len(seed.values) for seed in seeds), config.agent.updates)
    environments: dict[str, tuple[LearningCurve, ...]] = {}
    for names, (agent, seeds) in sorted(groups.items(), key=lambda item: item[0].order):
        curve = _curve(names.curve, agent, seeds)
        environments[names.environment] = (*environments.get(names.environment, ()), curve)
        if unknown := int(np.isnan(curve.scores).sum()):
            notes.append(f"{names.environment}, {names.curve}: {unknown} of {len(seeds)} seeds have no {metric} yet")
    labels = list(dict.fromkeys(curve.label for curves in environments.values() for curve in curves))
    if baseline is not None:
        check_name("baseline", baseline, labels)
    elif len(labels) == 2:
        baseline = labels[0]
    if len(environments) > 1 and any(len(curves) < len(labels) for curves in environments.values()):
        notes.append("not every curve is in every environment: scores of all environments are left out")
    together = _together(environments, labels)
    if together and len({one.env.name for one in configs}) > 1 and not all(one.env.common_scale for one in configs):
        together = {}
        notes.append("returns of these environments have different scales: scores of all environments are left out")
    titles = {
        names.environment: names.titled(config.env) for names, config in zip(name_runs(configs), configs, strict=True)
    }
    return Comparison(metric, environments, together, baseline, tuple(notes), titles)


def _open(path: Path) -> tuple[RunFolder, TrainConfig]:
    if is_file(path):
        raise UserError(f"{path} is a file: give the folder of a run")
    run = RunFolder.open(path)
    try:
        return run, TrainConfig.for_display(run.config)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _read(path: Path, config: TrainConfig, metric: str) -> Rows:
    """The rows of a run: the newest of each seed whole, of the others only what is used, as a long run has many."""
    rows: Rows = defaultdict(dict)
    newest: dict[int, Data] = {}
    used = (*KEYS, metric)
    for row in each_row(path):
        seed, update = row.get("seed"), row["update"]
        if not isinstance(seed, int) or not 1 <= update <= config.agent.rollouts:
            raise UserError(f"{path} has metrics that do not match its config: seed {seed}, update {update}")
        rows[seed][update] = {name: row[name] for name in used if name in row}
        if seed not in newest or newest[seed]["update"] <= update:
            newest[seed] = row
    if not rows:
        raise UserError(f"{path} has no metrics yet: wait for its first update, or leave it out")
    for seed, row in newest.items():
        rows[seed][row["update"]] = row
    if sum(row["update"] for row in newest.values()) > GAPS * sum(map(len, rows.values())):
        raise UserError(f"{path} has lost most of its metrics: leave it out, or restore a copy of it")
    return rows


def _seed(path: Path, seed: int, rows: Mapping[int, Data], metric: str) -> Seed:
    def number(row: Data, name: str) -> float:
        value = row.get(name)
        if isinstance(value, list):
            raise UserError(f"metric '{name}' has more than one value per update: choose another --metric")
        if not isinstance(value, (int, float)):
            raise UserError(
                f"{path} has no {name} for update {row['update']}: leave it out, or choose another --metric"
            )
        return float(value)

    last = rows[max(rows)]
    values = np.full(max(rows), math.nan)
    for update, row in rows.items():
        values[update - 1] = number(row, metric)
    first = number(last, "first_reward")
    states = number(last, "states") if "states" in last else 0.0
    return Seed(seed, path, learning_curve.carried_forward(values), first if first >= 0 else math.inf, states)


def _add(group: list[Seed], seeds: Iterable[Seed]) -> None:
    present = {one.seed: one.path for one in group}
    for one in seeds:
        if one.seed in present:
            raise UserError(
                f"seed {one.seed} is in {present[one.seed]} and in {one.path}, with the same settings: leave one out"
            )
        group.append(one)


def _unfinished(run: RunFolder, update: int, updates: int) -> list[str]:
    """A note about a run that has not made all its updates."""
    if update >= updates:
        return []
    status = run.manifest.get("status")
    how = {"interrupted": "interrupted", "failed": "stopped by an error"}.get(str(status), "not finished,")
    return [f"{run.path}: {how} at update {update} of {updates}"]


def _curve(label: str, config: AgentConfig, seeds: Sequence[Seed]) -> LearningCurve:
    seeds = sorted(seeds, key=lambda one: one.seed)
    common = min(len(one.values) for one in seeds)
    values = np.stack([one.values[:common] for one in seeds])  # (S, T)
    known = np.isfinite(values).all(axis=0)
    value, low, high = statistics.iqm_band([values[:, known]])
    band: Spread | None = "interval" if statistics.has_interval(len(seeds)) else "range" if len(seeds) > 1 else None
    if band == "range":
        low, high = statistics.range_band(values[:, known])
    return LearningCurve(
        label=label,
        method=config.label,
        seeds=tuple(one.seed for one in seeds),
        steps=config.steps_at(np.flatnonzero(known) + 1),
        iqm=value,
        low=low,
        high=high,
        band=band,
        scores=np.array([float(learning_curve.final_mean(one.values)) for one in seeds]),
        first_reward=np.array([one.first_reward for one in seeds]),
        states=np.array([one.states for one in seeds]),
    )


def _together(environments: Mapping[str, Sequence[LearningCurve]], labels: Sequence[str]) -> dict[str, Estimate]:
    """Scores over all environments by curve, if each has all curves."""
    if len(environments) < 2 or any(len(curves) < len(labels) for curves in environments.values()):
        return {}
    strata = {
        label: [curve.scores for curves in environments.values() for curve in curves if curve.label == label]
        for label in labels
    }
    return {
        label: statistics.pooled_iqm(scores) if np.isfinite(np.concatenate(scores)).all() else UNKNOWN
        for label, scores in strata.items()
    }
