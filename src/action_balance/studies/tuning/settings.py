"""Settings of the tuning: its worlds, the settings that are searched, and the trials of every method."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from action_balance.config.algorithm import DEFAULT
from action_balance.config.fields import Settings, count
from action_balance.config.methods import ACTION_BONUSES, AUTO, NONE, WITHOUT_NETWORKS
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.config.tuned import Values
from action_balance.errors import UserError
from action_balance.studies.bonuses.settings import (
    DISTRACTORS,
    EPSILON_GREEDY,
    INTRINSICS,
    Q_SETUPS,
    Setup,
    StudyWorld,
    balanced,
)
from action_balance.studies.checks import check_names, check_seeds
from action_balance.studies.sweep.space import Axis, Choice, Range, Space

#: The worlds of each kind. None of them is reported; the larger deep seas lie between those that are, all others are
#: smaller.
WORLDS_OF: dict[str, dict[str, StudyWorld]] = {
    "chains": {
        "deep-sea-12": StudyWorld("deep sea 12", env_config("deep-sea", size=12)),
        "deep-sea-18": StudyWorld("deep sea 18", env_config("deep-sea", size=18), steps=180_000),
        "deep-sea-9-distractors": StudyWorld(
            "deep sea 9 with distractors", env_config("deep-sea", size=9, distractors=DISTRACTORS)
        ),
    },
    "rooms": {
        "corridor-15": StudyWorld("corridor 15", env_config("corridor", size=15), steps=60_000),
        "corridor-20": StudyWorld("corridor 20", env_config("corridor", size=20)),
        "goal-30": StudyWorld("goal 30 x 30", env_config("goal", size=30), steps=30_000, envs=1),
    },
}

#: All worlds by name.
WORLDS = {name: world for worlds in WORLDS_OF.values() for name, world in worlds.items()}

#: The preset whose settings trials change.
BASE_PRESET = "study"

#: The first agents of the tuning have seeds that no study has.
FIRST_SEED = 1_000_000

#: Settings of the algorithm that every method searches, those of its bonuses, and those of action balance.
SHARED: tuple[Axis, ...] = (
    Range("algorithm.learning_rate", 1e-4, 3e-3, log=True),
    Range("algorithm.entropy_coef", 5e-4, 3e-2, log=True),
    Choice("algorithm.normalize_advantages", (False, True)),
    Range("algorithm.extrinsic_coef", 1.0, 8.0, log=True),
)
NETWORKS: tuple[Axis, ...] = (Choice("exploration.update_proportion", (0.25, 1.0)),)
OWN: dict[str, tuple[Axis, ...]] = {
    "coin-flip": (Choice("bonus_settings.coin-flip.coins", (16, 64)),),
    "elliptical": (
        Range("bonus_settings.elliptical.exponent", 0.5, 1.0),
        Range("bonus_settings.elliptical.ridge", 0.1, 1.0, log=True),
    ),
    "icm": (Choice("bonus_settings.icm.features", (16, 64)),),
    "ngu": (Choice("algorithm.intrinsic_ends", ("never", "episode")), Choice("bonus_settings.ngu.features", (16, 64))),
    "e3b": (
        Choice("algorithm.intrinsic_ends", ("never", "episode")),
        Range("bonus_settings.e3b.ridge", 0.01, 1.0, log=True),
    ),
}
BALANCE: tuple[Axis, ...] = (
    Choice("exploration.action_coef", (AUTO, 0.3, 1.0, 3.0)),
    Choice("exploration.normalize", ("l2", "raw", "standard")),
)
EPSILON: tuple[Axis, ...] = (Range("exploration.epsilon", 0.01, 0.3, log=True),)

#: The same for PQN, whose Q-values are much smaller than logits.
Q_SHARED: tuple[Axis, ...] = (
    Range("algorithm.learning_rate", 1e-4, 3e-3, log=True),
    Range("algorithm.temperature", 0.003, 0.3, log=True),
    Choice("algorithm.intrinsic_ends", ("never", "episode")),
    Range("algorithm.extrinsic_coef", 1.0, 8.0, log=True),
    Range("exploration.epsilon", 0.01, 0.3, log=True),
)
Q_BALANCE: tuple[Axis, ...] = (
    Choice("exploration.action_coef", (AUTO, 0.03, 0.1, 0.3)),
    Choice("exploration.normalize", ("l2", "raw", "standard")),
)

#: Axes that have a place of their own in the sequence of points, so that methods which search them try the same values.
PLACED = {DEFAULT: (*SHARED, *NETWORKS, *BALANCE), "pqn": (*Q_SHARED, *NETWORKS, *Q_BALANCE)}

#: Trials that every method makes first: nothing changed, and the settings of the example in PyTorch.
ANCHORS: tuple[Values, ...] = (
    {},
    {"algorithm.learning_rate": 1e-3, "algorithm.entropy_coef": 0.01, "algorithm.normalize_advantages": True},
)

Q_ANCHORS: tuple[Values, ...] = (
    {},
    {"algorithm.temperature": 0.01, "algorithm.extrinsic_coef": 1.0, "exploration.epsilon": 0.05},
)

#: The same for action bonuses: the paper's coefficient for its own; otherwise one that adapts. UCB1 is raw: normalised,
#: it is the bonus of its counter.
BALANCE_ANCHOR: Values = {"exploration.action_coef": AUTO}
BALANCE_ANCHORS: dict[str, Values] = {
    "distillation": {"exploration.action_coef": 1.0},
    "ucb": {**BALANCE_ANCHOR, "exploration.normalize": "raw"},
}

#: The methods by kind of world: every next-state bonus, and every way to choose actions on top of RND and of the best.
METHODS_OF: dict[str, dict[str, Setup]] = {
    kind: {
        setup.name: setup
        for setup in (
            *map(Setup, INTRINSICS),
            *(Setup(base, action) for base in balanced(kind) for action in (*ACTION_BONUSES, EPSILON_GREEDY)),
            *(Q_SETUPS if kind == "chains" else ()),
        )
    }
    for kind in WORLDS_OF
}

#: All methods by name.
METHODS = {name: setup for methods in METHODS_OF.values() for name, setup in methods.items()}


def space(setup: Setup) -> Space:
    """The settings that a method searches."""
    names = dict.fromkeys((setup.intrinsic, setup.action))
    is_default = setup.algorithm == DEFAULT
    axes = [
        *(SHARED if is_default else Q_SHARED),
        *(() if {*names} <= {*WITHOUT_NETWORKS, EPSILON_GREEDY} else NETWORKS),
    ]
    axes += [axis for name in names for axis in OWN.get(name, ())]
    if setup.action == EPSILON_GREEDY:
        axes += EPSILON
    elif setup.action != NONE:
        axes += BALANCE if is_default else Q_BALANCE
    return Space(tuple(axes))


def trials(setup: Setup, number: int) -> list[dict[str, Any]]:
    """What each trial of a method changes: `ANCHORS`, then the points of a Sobol sequence.

    All methods have the same values of the settings that they share, and more trials begin with the same ones.
    """
    searched = space(setup)
    balance = BALANCE_ANCHORS.get(setup.action, BALANCE_ANCHOR if setup.action in ACTION_BONUSES else {})
    if setup.algorithm != DEFAULT:
        balance = {}
    anchors = [{**one, **balance} for one in (ANCHORS if setup.algorithm == DEFAULT else Q_ANCHORS)[:number]]
    if len(anchors) > 1 and any(axis in searched.axes for axis in NETWORKS):
        anchors[1]["exploration.update_proportion"] = 0.25
    placed = PLACED[setup.algorithm]
    places = [*placed, *(axis for axis in searched.axes if axis not in placed)]
    return anchors + [
        {axis.name: _value(axis, point[places.index(axis)]) for axis in searched.axes}
        for point in _points()[: max(0, number - len(ANCHORS))]
    ]


#: The most trials, and the most settings that a method searches.
LIMIT, MOST = 64, 10


@cache
def _points() -> Any:
    from scipy.stats import qmc

    return qmc.Sobol(MOST, rng=0).random(LIMIT)


def _value(axis: Axis, at: float) -> Any:
    """The value of a setting at a place between 0 and 1."""
    if isinstance(axis, Choice):
        return axis.values[int(at * len(axis.values))]
    value = axis.low * (axis.high / axis.low) ** at if axis.log else axis.low + (axis.high - axis.low) * at
    return axis.nearest(value)


@dataclass(frozen=True)
class TuningSettings(Settings):
    """Settings of ``reproduce tuning``."""

    trials: int = count(12, LIMIT)
    """Trials of every method in each world. The same command with a larger number adds trials."""
    seeds: int = count(8)
    """Agents of each trial in each world."""
    worlds: tuple[str, ...] = tuple(WORLDS)
    """Worlds to tune in (default: all)."""
    methods: tuple[str, ...] = tuple(METHODS)
    """Methods to tune: next-state bonuses, alone or with an action bonus, such as rnd+hash (default: all)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_seeds(FIRST_SEED, self.seeds)
        check_names("world", self.worlds, WORLDS)
        check_names("method", self.methods, METHODS)
        if not any(self._runs()):
            what = f"{', '.join(self.methods)} is not tuned in {', '.join(self.worlds)}"
            raise UserError(f"{what}: name worlds of another kind")

    def plan(self) -> dict[str, TrainConfig]:
        return {
            f"{world}--{method}--{number:02}": self.config(world, METHODS[method], values)
            for method, worlds in self._runs()
            for number, values in enumerate(trials(METHODS[method], self.trials))
            for world in worlds
        }

    def _runs(self) -> Iterator[tuple[str, list[str]]]:
        """The methods, each with the worlds that it is tuned in."""
        for method in self.methods:
            kinds = [kind for kind, methods in METHODS_OF.items() if method in methods]
            if worlds := [world for kind in kinds for world in WORLDS_OF[kind] if world in self.worlds]:
                yield method, worlds

    def config(self, world: str, setup: Setup, values: Values) -> TrainConfig:
        """The agents of a trial in a world."""
        about = WORLDS[world]
        agent = setup.agent(about.steps, about.envs, BASE_PRESET)
        base = TrainConfig(about.env, agent, FIRST_SEED, self.seeds, checkpoint_every=agent.updates)
        return space(setup).apply(base, values)
