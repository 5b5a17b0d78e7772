"""Trains the agents of a cell in one compiled program, and makes their record. Axes: R agents, S states, A actions."""

from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from action_balance.agent.state import TrainState
from action_balance.engines.metrics_rows import Progress, progress
from action_balance.runs import learning_curve
from action_balance.runs.manifest import PACKAGES, hardware, versions
from action_balance.studies.bonuses import counting
from action_balance.studies.bonuses.records import PAIRS, STATES, Comparison, Record
from action_balance.studies.bonuses.settings import Cell
from action_balance.studies.cell_training import Arrays, resumable

#: Points of the curves of a record.
POINTS = 30

#: Metrics of action bonuses whose curves are kept, where there are such metrics.
CURVES = ("kl_beta_pi", "action_coef")

#: Checkpoints at which bonuses are compared with counts; each has twice the updates of the one before.
CHECKPOINTS = 6


def points(updates: int) -> np.ndarray:
    """The updates of the curves, evenly spaced, with the last one, (P,)."""
    return np.unique(np.ceil(np.linspace(updates / POINTS, updates, POINTS)).astype(np.int32))


def checkpoints(updates: int) -> np.ndarray:
    """The updates after which bonuses are compared with counts, (C,)."""
    return np.unique(np.ceil(updates / 2.0 ** np.arange(CHECKPOINTS)).astype(np.int32))


def train(cell: Cell, report: Callable[[Progress], None] = lambda _: None, out: Path | None = None) -> Record:
    """Train the agents of a cell, from their newest checkpoint if there is one."""
    config, updates = cell.config, cell.config.agent.updates
    shape, compared = (config.seeds, updates), _Comparer(cell)
    returns, first_reward = np.full(shape, np.nan, np.float32), np.full(config.seeds, -1, np.int32)
    finite, states = np.ones(config.seeds, bool), np.zeros(shape, np.int32)
    curves, known = np.full((len(CURVES), *shape), np.nan, np.float32), np.zeros(len(CURVES), bool)
    kept = {"returns": returns, "first_reward": first_reward, "finite": finite, "states": states}
    kept |= {"curves": curves, "known": known, **compared.kept}
    with resumable(cell, kept, out) as training:
        for update, metrics in training.updates():
            returns[:, update - 1], states[:, update - 1] = metrics["episode_return"], metrics["states"]
            first_reward[:], finite[:] = metrics["first_reward"], metrics["parameters_finite"]
            for place, name in enumerate(CURVES):
                known[place] = name in metrics
                curves[place, :, update - 1] = metrics.get(name, np.nan)
            report(progress(metrics, update, update * config.agent.steps_per_update))
            compared.add(update, training.trainer.state)
    chosen = points(updates) - 1
    kl, coef = (
        np.take(curve, chosen, axis=1).mean(axis=0) if there else np.empty(0, np.float32)
        for curve, there in zip(curves, known, strict=True)
    )
    return Record(
        world=cell.world,
        setup=cell.setup,
        config=config,
        made_by={"versions": versions(PACKAGES), "hardware": hardware()},
        seconds=training.seconds,
        first_reward=first_reward,
        score=np.nan_to_num(learning_curve.final_mean(returns)).astype(np.float32),
        finite=finite,
        steps=((chosen + 1) * config.agent.steps_per_update).astype(np.int32),
        states=np.take(states, chosen, axis=1),
        kl=kl,
        coef=coef,
        comparisons=compared.result(),
    )


class _Comparer:
    """Compares the bonus of a cell with true counts, if it is to be compared."""

    def __init__(self, cell: Cell) -> None:
        self.kind: str | None = None
        self.kept: Arrays = {}  # what was found so far: all of a `Comparison` but its updates
        config = cell.config
        if cell.counts_states:
            self._name = cell.setup.intrinsic
            self.kind, one = STATES, counting.state_bonuses(config)
            self.kind = PAIRS if self._name in counting.OF_TRANSITIONS else STATES
        elif cell.counts_pairs:
            self._name = cell.setup.action
            self.kind, one = PAIRS, counting.pair_bonuses(config)
        else:
            return
        environment = config.environment(jax.random.key(0))
        pairs = self.kind == PAIRS
        self._known = environment.reachable() if pairs else counting.comparable_states(environment)
        self._keys = jax.vmap(jax.random.key)(np.arange(config.seed, config.seed + config.seeds))
        self._bonuses = jax.jit(jax.vmap(one))
        self._due = checkpoints(config.agent.updates)
        shape = config.seeds, len(self._due)
        self.kept = {
            "rank": np.zeros(shape, np.float32),
            "within": np.zeros(shape, np.float32),
            "ratio": np.zeros((*shape, counting.BINS), np.float16),
            "number": np.zeros((*shape, counting.BINS), np.int32),
        }

    def add(self, update: int, state: Callable[[], TrainState]) -> None:
        """Compare, if this is a checkpoint at which bonuses are compared."""
        if self.kind is None or update not in self._due:
            return
        # On a CPU, agents are distributed over devices; all of them are compared by one program.
        states = jax.device_put(state(), jax.devices()[0])
        bonuses = np.asarray(self._bonuses(states, self._keys))
        counts = np.asarray(states.visits if self.kind == PAIRS else states.state_visits)
        place = self._due.tolist().index(update)
        for agent, one in enumerate(zip(bonuses, counts, strict=True)):
            found = counting.compare_agent(*one, self._known, self._name)
            for values, value in zip(self.kept.values(), found, strict=True):
                values[agent, place] = value

    def result(self) -> dict[str, Comparison]:
        """All comparisons by kind; empty if there were none."""
        return {} if self.kind is None else {self.kind: Comparison(self._due, **self.kept)}
