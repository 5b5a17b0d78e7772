"""Settings of the bonus study: its worlds, its agents, and which agents each of its studies needs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from action_balance.config.agent import AgentConfig
from action_balance.config.algorithm import ALGORITHMS, DEFAULT
from action_balance.config.env import EnvConfig
from action_balance.config.exploration import ExplorationConfig
from action_balance.config.methods import ACTION_BONUSES, AUTO, INTRINSIC_BONUSES, NONE
from action_balance.config.presets import preset_config
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.config.tuned import Values, is_tuned, tuned
from action_balance.studies.checks import check_count, check_names, check_seeds

#: Agents of each kind in the full study.
AGENTS = 32

#: How large the study is.
ScaleName = Literal["small", "full"]

#: Random numbers in the observation of the deep sea with distractors: so many that they decide most signs of a SimHash.
DISTRACTORS = 16

#: The next-state bonus that all others are compared with, and the one that enumerates states.
BASE, EXACT = "rnd", "count"

#: The best next-state bonus of the tuning that does not enumerate states, where it is not `BASE`, by kind of world.
BEST = {"chains": "coin-flip"}

#: How actions are chosen without an action bonus: names of methods.
EPSILON_GREEDY, RANDOM = "epsilon-greedy", "random"

#: Next-state bonuses and action bonuses in the order of tables.
INTRINSICS = (NONE, *INTRINSIC_BONUSES)
ACTIONS = (NONE, *ACTION_BONUSES)

#: What tables and figures call bonuses and baselines.
LABELS = {
    **{NONE: "none", "rnd": "RND", "count": "exact counts", "hash": "hash counts", "coin-flip": "coin flips"},
    **{"elliptical": "elliptical counts", "icm": "ICM", "ngu": "NGU", "e3b": "E3B"},
    **{"distillation": "distillation", "ucb": "UCB1", EPSILON_GREEDY: "epsilon-greedy", RANDOM: "random"},
    **{"hash-auto": "hash counts, adaptive c", "hash-1": "hash counts, c = 1", "hash-3": "hash counts, c = 3"},
    "hash-to-0": "hash counts, c from 3 to 0",
}

#: Coefficients c of Eq. 5 that are compared with each other, all else as it was tuned: the bonus, and its c by name.
COEFFICIENTS: dict[str, tuple[str, ExplorationConfig]] = {
    "hash-auto": ("hash", ExplorationConfig(action_coef=AUTO)),
    "hash-1": ("hash", ExplorationConfig(action_coef=1.0)),
    "hash-3": ("hash", ExplorationConfig(action_coef=3.0)),
    "hash-to-0": ("hash", ExplorationConfig(action_coef=3.0, action_coef_end=0.0)),
}

#: Next-state bonuses that are compared with true counts. Those of ``ngu`` and ``e3b`` depend on the episode, and are no
#: estimates of how often a state was reached.
STATE_COUNTERS = ("rnd", "count", "hash", "coin-flip", "elliptical", "icm")
#: Action bonuses that are compared with true counts; ``ucb`` has the counts of its counter.
PAIR_COUNTERS = ("distillation", "count", "hash", "coin-flip", "elliptical")


#: The kinds of worlds that were tuned: presets.
KINDS = ("chains", "rooms")


@dataclass(frozen=True)
class StudyWorld:
    """An environment, and how long agents are trained in it."""

    title: str
    env: EnvConfig
    steps: int = 120_000  # environment steps of each agent in the full study, those of the warm-up included
    envs: int = 8  # environments of each agent
    threshold: float | None = 0.5  # the mean return over 100 episodes that solves it; None where there is no reward
    short: str = ""  # its title in narrow places (default: the title)
    agents: int = AGENTS  # of each kind in the full study

    @property
    def preset(self) -> str:
        """The preset of its agents."""
        return self.env.preset_of(self.env.name)

    @property
    def kind(self) -> str | None:
        """The kind of world whose tuned settings its agents have; None where no method was tuned."""
        return self.preset if self.preset in KINDS else None

    @property
    def brief(self) -> str:
        return self.short or self.title


#: A maze of gymnasium-robotics in the shape of a U, whose episodes begin at one end and end at the other.
MAZE = {
    "maze_map": [[1, 1, 1, 1, 1], [1, "r", 0, 0, 1], [1, 1, 1, 0, 1], [1, "g", 0, 0, 1], [1, 1, 1, 1, 1]],
    "continuing_task": False,
}

#: The worlds by name.
WORLDS = {
    "deep-sea-10": StudyWorld("deep sea 10", env_config("deep-sea", size=10)),
    "deep-sea-14": StudyWorld("deep sea 14", env_config("deep-sea", size=14)),
    "deep-sea-10-distractors": StudyWorld(
        "deep sea 10 with distractors",
        env_config("deep-sea", size=10, distractors=DISTRACTORS),
        short="distractors",
    ),
    "lock-6": StudyWorld("combination lock with 18 actions", env_config("lock"), short="lock"),
    "corridor-25": StudyWorld("corridor 25", env_config("corridor", size=25), short="corridor"),
    "goal-40": StudyWorld("goal 40 x 40", env_config("goal"), steps=40_000, envs=1, short="goal"),
    "open-40": StudyWorld("open grid 40 x 40", env_config("open"), steps=40_000, threshold=None, short="open grid"),
    "mountain-car": StudyWorld(
        "MountainCar", env_config("gymnax:MountainCar-v0"), steps=131_072, threshold=-130.0, short="MountainCar"
    ),
    "deep-sea-20": StudyWorld("deep sea 20", env_config("deep-sea", size=20), steps=240_000),
    "doorkey-6": StudyWorld(
        "DoorKey 6 x 6",
        env_config("xminigrid:MiniGrid-DoorKey-6x6", show_carried=True),
        steps=262_144,
        envs=32,
        threshold=0.8,
        short="DoorKey",
    ),
    "deep-sea-30": StudyWorld("deep sea 30", env_config("deep-sea", size=30), steps=300_000),
    "deep-sea-40": StudyWorld("deep sea 40", env_config("deep-sea", size=40), steps=400_000),
    "car-continuous": StudyWorld(
        "continuous MountainCar",
        env_config("gymnax:MountainCarContinuous-v0"),
        steps=131_072,
        threshold=90.0,
        short="continuous car",
        agents=16,
    ),
    "point-maze": StudyWorld(
        "point maze", env_config("gym:PointMaze_UMaze-v3", env_kwargs=MAZE), steps=150_000, agents=16
    ),
}

#: The worlds in which bonuses are compared with true counts, action bonuses with each other, and coefficients.
COUNTED = ("deep-sea-10", "corridor-25", "deep-sea-10-distractors")
BALANCED = ("deep-sea-10", "lock-6", "deep-sea-14", "corridor-25", "deep-sea-10-distractors", "deep-sea-20")
COMPARED = ("deep-sea-10", "lock-6")

#: The worlds with continuous actions, and the bonuses that are compared there: of states, each with one of pairs.
CONTINUOUS = ("car-continuous", "point-maze")
OF_CONTINUOUS = (NONE, "rnd", "elliptical")

#: The worlds in which Q-learning is compared with the default algorithm, with and without action balance.
VALUED = ("deep-sea-10", "deep-sea-14", "deep-sea-20", "deep-sea-30", "deep-sea-10-distractors", "lock-6")

#: Deep seas by size: which ones are solved within so many episodes is what bsuite asks (Osband et al., 2020). The
#: largest is trained only where it is named: it takes hours on two cores.
SEAS, EPISODES = {f"deep-sea-{size}": size for size in (10, 20, 30, 40)}, 10_000
LONG = ("deep-sea-40",)

#: The studies: does it count, next-state bonuses, action bonuses, coefficients, and Q-learning.
COUNTING, NEXT_STATE, ACTION, COEFFICIENT, Q_LEARNING = STUDIES = (
    *("counting", "next-state", "action", "coefficient", "q-learning"),
)


@dataclass(frozen=True)
class Scale:
    """What the study trains by default."""

    seeds: int | None  # None for those of each world
    steps: int | None  # environment steps of each agent; None for those of each world
    worlds: tuple[str, ...]


SCALES: dict[str, Scale] = {
    "small": Scale(6, 40_000, ("deep-sea-10", "deep-sea-10-distractors")),
    "full": Scale(None, None, tuple(world for world in WORLDS if world not in LONG)),
}


@dataclass(frozen=True)
class Setup:
    """How an agent explores."""

    intrinsic: str = NONE  # its next-state bonus
    action: str = NONE
    """Its action bonus, one of `COEFFICIENTS`, or how it chooses actions without one."""
    algorithm: str = DEFAULT

    @property
    def name(self) -> str:
        """Both names, e.g. ``rnd+hash``; that of the next-state bonus alone without an action bonus; after that of the
        algorithm where it is not the default."""
        if self.action == RANDOM:
            return RANDOM
        prefix = "" if self.algorithm == DEFAULT else f"{self.algorithm}-"
        return prefix + (self.intrinsic if self.action == NONE else f"{self.intrinsic}+{self.action}")

    @property
    def label(self) -> str:
        """What tables call it: e.g. ``RND + hash counts``; PPO without any bonus."""
        if self.action == RANDOM:
            return LABELS[RANDOM]
        algorithm = self.algorithm.upper()
        rewards = algorithm if self.intrinsic == NONE else LABELS[self.intrinsic]
        if self.algorithm != DEFAULT and self.intrinsic != NONE:
            rewards = f"{algorithm} with {rewards}"
        return rewards if self.action == NONE else f"{rewards} + {LABELS[self.action]}"

    @property
    def base(self) -> "Setup":
        """What it is compared with: where it is about the choice of actions, its next-state bonus alone; otherwise RND,
        or the same bonus with the default algorithm."""
        if self.action not in (NONE, RANDOM):
            return Setup(self.intrinsic, NONE, self.algorithm)
        return Setup(BASE if self.algorithm == DEFAULT else self.intrinsic)

    @classmethod
    def of(cls, name: str) -> "Setup":
        algorithm = next((one for one in ALGORITHMS if name.startswith(f"{one}-")), DEFAULT)
        intrinsic, _, action = name.removeprefix(f"{algorithm}-").partition("+")
        return cls(NONE, RANDOM) if name == RANDOM else cls(intrinsic, action or NONE, algorithm)

    @property
    def _names(self) -> tuple[str, str, str | None]:
        """Its method, and the bonuses in place of the method's."""
        action, _ = COEFFICIENTS.get(self.action, (self.action, None))
        return (
            (action, self.intrinsic, None)
            if action in (RANDOM, EPSILON_GREEDY)
            else (self.algorithm, self.intrinsic, action)
        )

    def is_tuned(self, kind: str | None) -> bool:
        """Whether it was tuned in a kind of world; always where none of the methods was, as a random walk."""
        return kind is None or self.action == RANDOM or is_tuned(kind, *self._names)

    def tuned(self, preset: str) -> Values:
        """What the tuning has chosen for it in a kind of world."""
        return tuned(preset, *self._names)

    def agent(self, steps: int, envs: int, preset: str) -> AgentConfig:
        """The settings of its agents: a preset, as it was tuned for the setup."""
        _, coefficient = COEFFICIENTS.get(self.action, (self.action, None))
        start = preset_config(preset, *self._names)
        algorithm, exploration = start.algorithm, start.exploration
        if algorithm.minibatch_of == "environments":  # of which a minibatch has whole ones
            algorithm = replace(algorithm, minibatches=min(algorithm.minibatches, envs))
        if preset == "classic" and self.action in ACTION_BONUSES:  # of candidates, whose bonuses differ by little
            exploration = replace(exploration, action_coef=AUTO, action_coef_start=0.3, normalize="standard")
        if coefficient is not None:
            coefs = {name: getattr(coefficient, name) for name in ("action_coef", "action_coef_end")}
            exploration = replace(exploration, **coefs)
        return replace(start, steps=steps, envs=envs, algorithm=algorithm, exploration=exploration)

    #: All that `action` can be, in the order of tables.
    CHOICES: ClassVar[tuple[str, ...]] = (*ACTIONS, *COEFFICIENTS, EPSILON_GREEDY, RANDOM)

    @property
    def order(self) -> tuple[int, int, int]:
        place = INTRINSICS.index(self.intrinsic) if self.action != RANDOM else -1
        return [*ALGORITHMS].index(self.algorithm), place, self.CHOICES.index(self.action)


#: Q-learning: each next-state bonus alone, and with action balance by counts of the same kind.
Q_SETUPS = tuple(
    Setup(intrinsic, action, "pqn")
    for intrinsic, balances in ((NONE, "hash"), ("rnd", "hash"), ("hash", "hash"), ("elliptical", "elliptical"))
    for action in (NONE, balances)
)


@dataclass(frozen=True)
class Condition:
    """Agents with one setup in one world, which are trained together."""

    world: str
    setup: Setup

    @property
    def name(self) -> str:
        return f"{self.world}--{self.setup.name}"

    @classmethod
    def of(cls, name: str) -> "Condition":
        world, _, setup = name.partition("--")
        return cls(world, Setup.of(setup))

    @property
    def is_known(self) -> bool:
        setup = self.setup
        return self.world in WORLDS and setup.intrinsic in INTRINSICS and setup.action in Setup.CHOICES

    @property
    def counts_states(self) -> bool:
        """Whether its next-state bonus is compared with true counts."""
        return self.world in COUNTED and self.setup.action == NONE and self.setup.intrinsic in STATE_COUNTERS

    @property
    def counts_pairs(self) -> bool:
        """Whether its action bonus is compared with true counts."""
        return self.world in COUNTED and self.setup.intrinsic == BASE and self.setup.action in PAIR_COUNTERS


@dataclass(frozen=True)
class BonusesSettings:
    """Settings of ``reproduce bonuses``. All other settings are those that the tuning has chosen for each method; those
    that were not tuned are left out."""

    scale: ScaleName = "small"
    """small: 6 agents of 40,000 steps in two worlds, about 20 minutes on two cores. full: 32 agents in all worlds,
    about five hours on two cores."""
    seeds: int | None = None
    """Agents per setup in each world (default: 6; full: 32)."""
    seed: int = 0
    """Random seed of the first agent."""
    steps: int | None = None
    """Environment steps per agent (default: 40,000; full: depends on the world)."""
    worlds: tuple[str, ...] = ()
    """Worlds (default: deep-sea-10 and deep-sea-10-distractors; full: all but deep-sea-40)."""
    intrinsic: tuple[str, ...] = ()
    """Next-state bonuses (default: all)."""
    action_bonus: tuple[str, ...] = ()
    """Action bonuses, and other ways to choose actions (default: all)."""
    studies: tuple[str, ...] = STUDIES
    """Studies to run: counting, next-state, action, coefficient, q-learning."""

    def __post_init__(self) -> None:
        if self.seeds is not None:
            check_seeds(self.seed, self.seeds)
        if self.steps is not None:
            check_count("--steps", self.steps)
        for kind, names, known in (
            ("world", self.worlds, WORLDS),
            ("next-state bonus", self.intrinsic, INTRINSICS),
            ("action bonus", self.action_bonus, (*ACTIONS, *COEFFICIENTS, EPSILON_GREEDY)),
        ):
            if names:
                check_names(kind, names, known)
        check_names("study", self.studies, STUDIES)

    def plan(self) -> dict[str, TrainConfig]:
        return {one.name: self.config(one) for one in self.conditions()}

    def conditions(self) -> list[Condition]:
        worlds = self.worlds or SCALES[self.scale].worlds
        found = (
            Condition(world, setup)
            for study in STUDIES
            if study in self.studies
            for world in worlds
            for setup in _needed(study, world)
            if self._is_chosen(setup) and setup.is_tuned(WORLDS[world].kind)
        )
        return list(dict.fromkeys(found))

    def config(self, condition: Condition) -> TrainConfig:
        about, scale = WORLDS[condition.world], SCALES[self.scale]
        agent = condition.setup.agent(self.steps or scale.steps or about.steps, about.envs, about.preset)
        # A run takes minutes, so that one checkpoint at its end is enough.
        return TrainConfig(
            about.env, agent, self.seed, self.seeds or scale.seeds or about.agents, checkpoint_every=agent.updates
        )

    def _is_chosen(self, setup: Setup) -> bool:
        if setup.action == RANDOM:
            return True
        chosen = not self.intrinsic or setup.intrinsic in self.intrinsic
        return chosen and (not self.action_bonus or setup.action in (NONE, *self.action_bonus))


def balanced(kind: str | None) -> list[str]:
    """The next-state bonuses to which action bonuses are added in a kind of world: RND, and the best one."""
    return list(dict.fromkeys((BASE, BEST.get(kind or "", BASE))))


def _needed(study: str, world: str) -> Iterator[Setup]:
    """The setups that a study compares in a world."""
    if world in CONTINUOUS:
        if study == NEXT_STATE:
            yield from (*map(Setup, OF_CONTINUOUS), Setup(NONE, RANDOM))
        if study == ACTION:
            yield from (Setup(intrinsic, action) for intrinsic in OF_CONTINUOUS for action in (NONE, "elliptical"))
    elif study == NEXT_STATE:
        enumerable = WORLDS[world].preset in KINDS
        yield from (Setup(intrinsic) for intrinsic in INTRINSICS if enumerable or intrinsic != EXACT)
        yield Setup(NONE, RANDOM)
    if study == COUNTING and world in COUNTED:
        yield from (Setup(intrinsic) for intrinsic in STATE_COUNTERS)
        yield from (Setup(BASE, action) for action in PAIR_COUNTERS)
    if study == ACTION and world in BALANCED:
        for base in balanced(WORLDS[world].kind):
            yield from (Setup(base, action) for action in (NONE, *ACTION_BONUSES, EPSILON_GREEDY))
    if study == COEFFICIENT and world in COMPARED:
        yield from (Setup(BASE, one) for one in COEFFICIENTS)
    if study == Q_LEARNING and world in VALUED:
        yield from (Setup(intrinsic, NONE) for intrinsic in dict.fromkeys(one.intrinsic for one in Q_SETUPS))
        yield from Q_SETUPS
