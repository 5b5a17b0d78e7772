"""Trains the agents of a cell in one compiled program, and makes their record. Axes: R agents, S states, A actions."""

import time
from collections.abc import Callable
from pathlib import Path

import jax
import numpy as np

from action_balance.agent.state import TrainState
from action_balance.engines.device.trainer import DeviceTrainer
from action_balance.engines.memory_needs import check_training
from action_balance.engines.metrics_rows import HostMetrics, Progress, progress
from action_balance.runs import learning_curve
from action_balance.runs.manifest import PACKAGES, hardware, versions
from action_balance.studies.bonuses import counting
from action_balance.studies.bonuses.records import PAIRS, STATES, Comparison, Record
from action_balance.studies.bonuses.settings import Cell

#: Points of the curves of a record.
POINTS = 30

#: Checkpoints at which bonuses are compared with counts; each has twice the updates of the one before.
CHECKPOINTS = 6


def points(updates: int) -> np.ndarray:
    """The updates of the curves, evenly spaced, with the last one, (P,)."""
    return np.unique(np.ceil(np.linspace(updates / POINTS, updates, POINTS)).astype(np.int32))


def checkpoints(updates: int) -> np.ndarray:
    """The updates after which bonuses are compared with counts, (C,)."""
    return np.unique(np.ceil(updates / 2.0 ** np.arange(CHECKPOINTS)).astype(np.int32))


def train(cell: Cell, report: Callable[[Progress], None] = lambda _: None, out: Path | None = None) -> Record:
    """Train the agents of a cell.

    Args:
        cell: what to train.
        report: called after every update.
        out: folder of the study.

    Returns:
        Their record.
    """
    del out
    config, updates = cell.config, cell.config.agent.updates
    check_training(config, config.env.spec)
    trainer, compared = DeviceTrainer(config), _Comparer(cell)
    trainer.start(trainer.init_state())
    due, rows, begin = set(checkpoints(updates).tolist()), [], 0.0
    for update in range(1, updates + 1):
        metrics = trainer.advance()
        begin = begin or time.perf_counter()
        rows.append(metrics)
        report(progress(metrics, update, update * config.agent.steps_per_update))
        if compared.kind is not None and update in due:
            compared.add(update, trainer.state())
    seconds = time.perf_counter() - begin
    chosen = points(updates) - 1
    curves = {name: np.stack([rows[place][name] for place in chosen], axis=-1) for name in _curves(rows[0])}
    returns = np.stack([row["episode_return"] for row in rows], axis=-1)

    def mean(name: str) -> np.ndarray:
        return curves[name].mean(axis=0).astype(np.float32) if name in curves else np.empty(0, np.float32)

    return Record(
        world=cell.world,
        setup=cell.setup,
        config=config,
        made_by={"versions": versions(PACKAGES), "hardware": hardware()},
        seconds=seconds,
        first_reward=rows[-1]["first_reward"].astype(np.int32),
        score=np.nan_to_num(learning_curve.final_mean(returns)).astype(np.float32),
        finite=rows[-1]["parameters_finite"].astype(bool),
        steps=((chosen + 1) * config.agent.steps_per_update).astype(np.int32),
        states=curves["states"].astype(np.int32),
        kl=mean("kl_beta_pi"),
        coef=mean("action_coef"),
        comparisons=compared.result(),
    )


def _curves(metrics: HostMetrics) -> list[str]:
    return [name for name in ("states", "kl_beta_pi", "action_coef") if name in metrics]


class _Comparer:
    """Compares the bonus of a cell with true counts, if it is to be compared."""

    def __init__(self, cell: Cell) -> None:
        self.kind: str | None = None
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
        self._found: list[tuple[int, list[tuple[float, float, np.ndarray, np.ndarray]]]] = []

    def add(self, update: int, states: TrainState) -> None:
        """Compare at a checkpoint.

        Args:
            update: the update that is finished.
            states: the agents, leading axis R.
        """
        # On a CPU, agents are distributed over devices; all of them are compared by one program.
        states = jax.device_put(states, jax.devices()[0])
        bonuses = np.asarray(self._bonuses(states, self._keys))
        counts = np.asarray(states.visits if self.kind == PAIRS else states.state_visits)
        found = [counting.compare_agent(*one, self._known, self._name) for one in zip(bonuses, counts, strict=True)]
        self._found.append((update, found))

    def result(self) -> dict[str, Comparison]:
        """All comparisons by kind; empty if there were none."""
        if self.kind is None:
            return {}

        def column(place: int, kind: type) -> np.ndarray:
            return np.stack([np.array([one[place] for one in found], kind) for _, found in self._found], axis=1)

        updates = np.array([update for update, _ in self._found], np.int32)
        return {
            self.kind: Comparison(
                updates,
                *(column(place, kind) for place, kind in enumerate((np.float32, np.float32, np.float16, np.int32))),
            )
        }
