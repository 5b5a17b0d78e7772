"""What is kept of a group of agents, and what compares their bonus with true counts while they are trained.

Axes: R agents, P points of the curves, M moments at which the bonus is compared, B bins of visits.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from action_balance.config.train import TrainConfig
from action_balance.engines.callbacks import Callback, Update
from action_balance.engines.factory import evaluate_run
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies import counting, solving
from action_balance.studies.bonuses.settings import WORLDS, Condition, Setup
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

#: What a record has of the greedy policy, and of how many episodes.
GREEDY, EPISODES = "greedy", 10

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

    solved_at: Int[np.ndarray, " R"]  # environment steps; -1 where an agent has not solved the world
    area: Float[np.ndarray, " R"]  # under the learning curve
    returns: Float[np.ndarray, "R P"]  # mean return of the episodes that ended last
    greedy: Float[np.ndarray, " R"]  # mean return of the greedy policy in the end; nan where there is none
    kl: Float[np.ndarray, " K"]  # KL(beta || pi), mean over agents; empty without an action bonus, or P values
    coef: Float[np.ndarray, " C"]  # c of Eq. 5, mean over agents; empty where it is constant, or P values
    seconds: float  # duration of all updates but the first, which is compiled

    @property
    def world(self) -> str:
        return Condition.of(self.name).world

    @property
    def solved(self) -> Bool[np.ndarray, " R"]:
        """Whether each agent has solved its world."""
        solved: np.ndarray = self.solved_at >= 0
        return solved

    @property
    def time(self) -> Int[np.ndarray, " R"]:
        """Environment steps until each agent has solved its world; all steps where it has not."""
        return solving.restricted(self.solved_at, self.limit)

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
        """The curves of a finished run; what was measured meanwhile is in its record already."""
        measured = read_record(path)
        for kind, values in measured.items():
            if kind.endswith("_updates") and not np.array_equal(values, moments(config.agent.updates)):
                raise UserError(f"{path} has lost part of its record: delete that folder to train the run again")
        names = ("episodes", "episode_return", "states", "first_reward", "kl_beta_pi", "action_coef")
        episodes, returns, states, first_reward, *curves = metric_columns(path, config, names).values()
        chosen, steps = points(config.agent.updates) - 1, config.agent.steps_at(np.arange(1, config.agent.updates + 1))
        kl, coef = (
            np.empty(0) if np.isnan(curve).all() else np.take(curve, chosen, axis=1).mean(axis=0) for curve in curves
        )
        threshold = WORLDS[Condition.of(path.name).world].threshold
        return {
            "first_reward": first_reward[:, -1].astype(np.int32),
            "solved_at": solving.solved_at(episodes, returns, steps, np.inf if threshold is None else threshold),
            "area": solving.area(episodes, returns).astype(np.float32),
            "returns": np.take(solving.newest(episodes, returns), chosen, axis=1).astype(np.float32),
            "greedy": measured.get(GREEDY, np.full(config.seeds, np.nan, np.float32)),
            "steps": steps[chosen].astype(np.int32),
            "states": np.nan_to_num(np.take(states, chosen, axis=1)).astype(np.int32),
            "kl": kl.astype(np.float32),
            "coef": coef.astype(np.float32),
            "seconds": typical_seconds(path, config),
        }


def measuring(path: Path, config: TrainConfig) -> Sequence[Callback]:
    """What measures a run: its greedy policy in the end, and its bonus beside true counts, if it is to be compared."""
    condition = Condition.of(path.name)
    players = [] if config.agent.uniform else [partial(_play, path, config)]
    if condition.counts_states:
        name = condition.setup.intrinsic
        kind = PAIRS if name in counting.OF_TRANSITIONS else STATES
        return [*players, _Comparer(path, config, kind, name, counting.state_bonuses(config))]
    if condition.counts_pairs:
        return [*players, _Comparer(path, config, PAIRS, condition.setup.action, counting.pair_bonuses(config))]
    return players


def _play(path: Path, config: TrainConfig, now: Update) -> None:
    """Play episodes with the greedy policy of every agent after the last update, and record their returns."""
    if now.update == config.agent.updates:
        states = jax.device_put(now.state(), jax.devices()[0])
        found = evaluate_run(config, states, EPISODES, seed=0)["greedy"].returns.mean(axis=1)
        write_record(RunFolder(path, {}, {}), {**read_record(path), GREEDY: found.astype(np.float32)})


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
        arrays, place = self._empty() | read_record(self._path), self._due.index(now.update)
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
