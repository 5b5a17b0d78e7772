"""What is kept of a group of agents, and what compares their bonus with true counts while they are trained.

Axes: R agents, P points of the curves, M moments at which the bonus is compared, B bins of visits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from action_balance.config.train import TrainConfig
from action_balance.engines.callbacks import Callback, Update
from action_balance.errors import UserError
from action_balance.runs import RunFolder, learning_curve
from action_balance.studies import counting
from action_balance.studies.bonuses.settings import Condition, Setup
from action_balance.studies.records import (
    Arrays,
    metric_columns,
    read_record,
    typical_seconds,
    write_record,
)
from action_balance.studies.worlds import SeekerRecord

#: The kinds of visits that a bonus can be compared with, which are also prefixes of arrays: of states and of pairs.
STATES, PAIRS = "states", "pairs"

#: Points of the curves of a record.
POINTS = 30

#: Moments at which bonuses are compared with counts; each has twice the updates of the one before.
MOMENTS = 6


def points(updates: int) -> np.ndarray:
    """The updates of the curves, evenly spaced, with the last one, (P,)."""
    return np.unique(np.ceil(np.linspace(updates / POINTS, updates, POINTS)).astype(np.int32))


def moments(updates: int) -> np.ndarray:
    """The updates after which bonuses are compared with counts, (M,)."""
    return np.unique(np.ceil(updates / 2.0 ** np.arange(MOMENTS)).astype(np.int32))


@dataclass(frozen=True)
class Comparison:
    """A bonus beside true counts at several moments."""

    updates: np.ndarray  # (M,) int32
    rank: np.ndarray  # (R, M) float32, rank correlation of the bonus and minus the true count; nan where undefined
    within: np.ndarray  # (R, M) float32, the same among the actions of a state, mean over states; nan for states
    ratio: np.ndarray  # (R, M, B) float16, mean log2 of estimated over true count; nan where a bin is empty
    number: np.ndarray  # (R, M, B) int32, states or pairs in each bin: visits of 1, 2 to 3, 4 to 7, ...


@dataclass(frozen=True)
class BonusRecord(SeekerRecord):
    """The agents with one setup in one world."""

    score: Float[np.ndarray, " R"]  # mean return over the last tenth of the updates; 0 where no episode ended
    kl: Float[np.ndarray, " K"]  # KL(beta || pi), mean over agents; empty without an action bonus, or P values
    coef: Float[np.ndarray, " C"]  # c of Eq. 5, mean over agents; empty where it is constant, or P values
    seconds: float  # duration of all updates but the first, which is compiled

    @property
    def world(self) -> str:
        return Condition.of(self.name).world

    @property
    def setup(self) -> Setup:
        return Condition.of(self.name).setup

    @cached_property
    def comparisons(self) -> dict[str, Comparison]:
        return {
            kind: Comparison(**{name: self.more[f"{kind}_{name}"] for name in Comparison.__dataclass_fields__})
            for kind in (STATES, PAIRS)
            if f"{kind}_updates" in self.more
        }

    @classmethod
    def extract(cls, path: Path, config: TrainConfig) -> Arrays:
        """The curves of a finished run; what was compared meanwhile is in its record already."""
        for kind, values in read_record(path).items():
            if kind.endswith("_updates") and not np.array_equal(values, moments(config.agent.updates)):
                raise UserError(f"{path} has lost part of its record: delete that folder to train the run again")
        names = ("episode_return", "states", "first_reward", "kl_beta_pi", "action_coef")
        columns = metric_columns(path, config, names)
        returns, states, first_reward, *curves = (
            np.ascontiguousarray(columns[name], np.float32 if name not in names[1:3] else np.int32) for name in names
        )
        chosen = points(config.agent.updates) - 1
        kl, coef = (
            np.empty(0, np.float32) if np.isnan(curve).all() else np.take(curve, chosen, axis=1).mean(axis=0)
            for curve in curves
        )
        return {
            "first_reward": first_reward[:, -1],
            "score": np.nan_to_num(learning_curve.final_mean(returns)).astype(np.float32),
            "steps": ((chosen + 1) * config.agent.steps_per_update).astype(np.int32),
            "states": np.take(states, chosen, axis=1),
            "kl": kl,
            "coef": coef,
            "seconds": typical_seconds(path, config),
        }


def comparing(path: Path, config: TrainConfig) -> Sequence[Callback]:
    """What compares the bonus of a run with true counts, if it is to be compared."""
    condition = Condition.of(path.name)
    if condition.counts_states:
        name = condition.setup.intrinsic
        kind = PAIRS if name in counting.OF_TRANSITIONS else STATES
        return [_Comparer(path, config, kind, name, counting.state_bonuses(config))]
    if condition.counts_pairs:
        return [_Comparer(path, config, PAIRS, condition.setup.action, counting.pair_bonuses(config))]
    return ()


class _Comparer:
    """Compares the bonus of a run with true counts at some moments, and adds what it finds to the record."""

    def __init__(self, path: Path, config: TrainConfig, kind: str, name: str, one: Callable[..., Any]) -> None:
        self._path, self._kind, self._name = path, kind, name
        environment = config.environment(jax.random.key(0))
        self._known = environment.reachable() if kind == PAIRS else counting.comparable_states(environment)
        self._keys = jax.vmap(jax.random.key)(np.arange(config.seed, config.seed + config.seeds))
        self._bonuses = jax.jit(jax.vmap(one))
        self._due = moments(config.agent.updates).tolist()

    def __call__(self, now: Update) -> None:
        if now.update not in self._due:
            return
        # On a CPU, agents are distributed over devices; all of them are compared by one program.
        states = jax.device_put(now.state(), jax.devices()[0])
        bonuses = np.asarray(self._bonuses(states, self._keys))
        counts = np.asarray(states.visits if self._kind == PAIRS else states.state_visits)
        arrays, place = read_record(self._path) or self._empty(), self._due.index(now.update)
        arrays[f"{self._kind}_updates"][place] = now.update
        for agent, one in enumerate(zip(bonuses, counts, strict=True)):
            found = counting.compare_agent(*one, self._known, self._name)
            for name, value in zip(("rank", "within", "ratio", "number"), found, strict=True):
                arrays[f"{self._kind}_{name}"][agent, place] = value
        write_record(RunFolder(self._path, {}, {}), arrays)

    def _empty(self) -> Arrays:
        shape = len(self._keys), len(self._due)
        return {
            f"{self._kind}_updates": np.zeros(len(self._due), np.int32),
            f"{self._kind}_rank": np.zeros(shape, np.float32),
            f"{self._kind}_within": np.zeros(shape, np.float32),
            f"{self._kind}_ratio": np.zeros((*shape, counting.BINS), np.float16),
            f"{self._kind}_number": np.zeros((*shape, counting.BINS), np.int32),
        }
