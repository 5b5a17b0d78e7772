"""Settings of the bonus study: its worlds, its agents, and which agents each of its studies needs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from action_balance.config.agent import AgentConfig, BonusConfig
from action_balance.config.env import EnvConfig
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES, NONE
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.studies.checks import check_count, check_names, check_seeds

#: How large the study is.
ScaleName = Literal["small", "full"]

#: Random numbers in the observation of the deep sea with distractors: so many that they decide most signs of a SimHash.
DISTRACTORS = 16

#: The next-state bonus that all others are compared with, and the one that enumerates states.
BASE, EXACT = "rnd", "count"

#: How actions are chosen without a bonus, as baselines: names of methods.
BASELINES = ("epsilon-greedy", "entropy")
RANDOM = "random"

#: Next-state bonuses and action bonuses in the order of tables.
INTRINSICS = (NONE, *INTRINSIC_BONUSES)
ACTIONS = (NONE, *ACTION_BONUSES)

#: What tables and figures call bonuses and baselines.
LABELS = {
    **{NONE: "none", "rnd": "RND", "count": "exact counts", "hash": "hash counts", "coin-flip": "coin flips"},
    **{
        "elliptical": "elliptical counts",
        "icm": "ICM",
        "ngu": "NGU",
        "e3b": "E3B",
        "distillation": "distillation",
        "ucb": "UCB1",
    },
    **{"epsilon-greedy": "epsilon-greedy", "entropy": "entropy", RANDOM: "random"},
    **{"count-3": "exact counts at c = 3", "hash-3": "hash counts at c = 3"},
}

#: c of Eq. 5 and the normalisation of each action bonus: the paper's for its own, and otherwise a c that is adapted so
#: that KL(beta || pi) stays near its target. UCB1 is raw: normalised, it is the bonus of its counter.
ADAPTIVE = BonusConfig(action_coef="auto")
COEFFICIENTS: dict[str, BonusConfig] = {
    "distillation": BonusConfig(action_coef=1.0),
    "ucb": BonusConfig(action_coef="auto", normalize="raw"),
}
#: Action bonuses with a constant c in place of the adaptive one, where that begins: the bonus and its c by name.
CONSTANT = {"count-3": ("count", 3.0), "hash-3": ("hash", 3.0)}

#: Next-state bonuses that are compared with true counts. Those of ``ngu`` and ``e3b`` depend on the episode, and are no
#: estimates of how often a state was reached.
STATE_COUNTERS = ("rnd", "count", "hash", "coin-flip", "elliptical", "icm")
#: Action bonuses that are compared with true counts; ``ucb`` has the counts of its counter.
PAIR_COUNTERS = ("distillation", "count", "hash", "coin-flip", "elliptical")


@dataclass(frozen=True)
class StudyWorld:
    """An environment, and how long agents are trained in it."""

    title: str
    env: EnvConfig
    steps: int = 120_000  # environment steps of each agent in the full study
    envs: int = 8  # environments of each agent
    has_treasure: bool = True  # whether there is a reward
    short: str = ""  # its title in narrow places (default: the title)

    @property
    def brief(self) -> str:
        return self.short or self.title


#: The worlds by name.
WORLDS = {
    "deep-sea-10": StudyWorld("deep sea 10", env_config("deep-sea", size=10)),
    "deep-sea-14": StudyWorld("deep sea 14", env_config("deep-sea", size=14)),
    "deep-sea-20": StudyWorld("deep sea 20", env_config("deep-sea", size=20), steps=240_000),
    "deep-sea-10-distractors": StudyWorld(
        "deep sea 10 with distractors", env_config("deep-sea", size=10, distractors=DISTRACTORS), short="distractors"
    ),
    "corridor-25": StudyWorld("corridor 25", env_config("corridor", size=25), short="corridor"),
    "goal-40": StudyWorld("goal 40 x 40", env_config("goal"), steps=40_000, envs=1, short="goal"),
    "open-40": StudyWorld("open grid 40 x 40", env_config("open"), has_treasure=False, short="open grid"),
}

#: The worlds in which bonuses are compared with true counts, and the world of the matrix.
COUNTED = ("deep-sea-10", "corridor-25", "deep-sea-10-distractors")
MATRIX_WORLD = "deep-sea-10"

#: The studies: does it count, what is it worth, and every next-state bonus with every action bonus.
COUNTING, WORTH, MATRIX = STUDIES = ("counting", "worth", "matrix")


@dataclass(frozen=True)
class Scale:
    """What the study trains by default."""

    seeds: int
    steps: int | None  # environment steps of each agent; None for those of each world
    worlds: tuple[str, ...]
    balanced: tuple[str, ...]  # the worlds in which action bonuses are compared
    matrix: tuple[str, ...]  # next-state bonuses of the matrix
    constant: tuple[str, ...] = ()  # the worlds in which an adaptive c is compared with a constant one


SCALES: dict[str, Scale] = {
    "small": Scale(6, 40_000, ("deep-sea-10", "deep-sea-10-distractors"), ("deep-sea-10",), (BASE, "hash")),
    "full": Scale(
        *(128, None, tuple(WORLDS), tuple(WORLDS), INTRINSICS),
        constant=("deep-sea-10", "corridor-25", "goal-40", "open-40"),
    ),
}


@dataclass(frozen=True)
class Setup:
    """How an agent explores."""

    intrinsic: str = NONE  # its next-state bonus
    action: str = NONE
    """Its action bonus, one of `CONSTANT`, or how it chooses actions without one: one of `BASELINES`, or `RANDOM`."""

    @property
    def name(self) -> str:
        """Both names, e.g. ``rnd+hash``; that of the next-state bonus alone without an action bonus."""
        if self.action == RANDOM:
            return RANDOM
        return self.intrinsic if self.action == NONE else f"{self.intrinsic}+{self.action}"

    @property
    def label(self) -> str:
        """What tables call it: e.g. ``RND + hash counts``; PPO without any bonus."""
        if self.action == RANDOM:
            return LABELS[RANDOM]
        rewards = "PPO" if self.intrinsic == NONE else LABELS[self.intrinsic]
        return rewards if self.action == NONE else f"{rewards} + {LABELS[self.action]}"

    @property
    def exact(self) -> "Setup":
        """The setup that shows what a perfect estimate would reach: exact counts of states, or, where it is about the
        choice of actions, exact counts of pairs on top of the same next-state bonus."""
        if self.action == NONE:
            return Setup(EXACT)
        return Setup(BASE if self.action == RANDOM else self.intrinsic, EXACT)

    @classmethod
    def of(cls, name: str) -> "Setup":
        intrinsic, _, action = name.partition("+")
        return cls(NONE, RANDOM) if name == RANDOM else cls(intrinsic, action or NONE)

    def agent(self, steps: int, envs: int, start: AgentConfig | None = None) -> AgentConfig:
        start = start or AgentConfig()
        ppo = start.ppo
        if ppo.minibatch_of == "environments":  # of which a minibatch has whole ones
            ppo = replace(ppo, minibatches=min(ppo.minibatches, envs))
        common: dict[str, Any] = {"steps": steps, "envs": envs, "ppo": ppo}
        if self.action in (RANDOM, *BASELINES):
            return replace(start, method=self.action, intrinsic=self.intrinsic, **common)
        action = self.action
        if action in CONSTANT:
            action, coefficient = CONSTANT[action]
            common["bonus"] = replace(start.bonus, action_coef=coefficient)
        elif action != NONE:
            chosen = COEFFICIENTS.get(action, ADAPTIVE)
            common["bonus"] = replace(start.bonus, action_coef=chosen.action_coef, normalize=chosen.normalize)
        return replace(start, method="ppo", intrinsic=self.intrinsic, action_bonus=action, **common)

    #: All that `action` can be, in the order of tables.
    CHOICES: ClassVar[tuple[str, ...]] = (*ACTIONS, *CONSTANT, *BASELINES, RANDOM)

    @property
    def order(self) -> tuple[int, int]:
        return (INTRINSICS.index(self.intrinsic) if self.action != RANDOM else -1, self.CHOICES.index(self.action))


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
    """Settings of ``reproduce bonuses``. All other settings are those of the preset ``study``."""

    scale: ScaleName = "small"
    """small: 6 agents of 40,000 steps in two worlds, 10 to 15 minutes on two cores. full: 128 agents in all worlds,
    which needs a GPU."""
    seeds: int | None = None
    """Agents per setup in each world (default: 6; full: 128)."""
    seed: int = 0
    """Random seed of the first agent."""
    steps: int | None = None
    """Environment steps per agent (default: 40,000; full: depends on the world)."""
    worlds: tuple[str, ...] = ()
    """Worlds (default: deep-sea-10 and deep-sea-10-distractors; full: all)."""
    intrinsic: tuple[str, ...] = ()
    """Next-state bonuses (default: all)."""
    action_bonus: tuple[str, ...] = ()
    """Action bonuses and baselines (default: all)."""
    studies: tuple[str, ...] = STUDIES
    """Studies to run: counting, worth, matrix."""

    def __post_init__(self) -> None:
        check_seeds(self.seed, self.agents)
        if self.steps is not None:
            check_count("--steps", self.steps)
        for kind, names, known in (
            ("world", self.worlds, WORLDS),
            ("next-state bonus", self.intrinsic, INTRINSICS),
            ("action bonus", self.action_bonus, (*ACTIONS, *CONSTANT, *BASELINES)),
        ):
            if names:
                check_names(kind, names, known)
        check_names("study", self.studies, STUDIES)

    @property
    def agents(self) -> int:
        return SCALES[self.scale].seeds if self.seeds is None else self.seeds

    def plan(self) -> dict[str, TrainConfig]:
        return {one.name: self.config(one) for one in self.conditions()}

    def conditions(self) -> list[Condition]:
        found = (
            Condition(world, setup)
            for study in STUDIES
            for world in self.worlds or SCALES[self.scale].worlds
            for setup in (self._setups(study, world) if study in self.studies else ())
        )
        return list(dict.fromkeys(found))

    def config(self, condition: Condition) -> TrainConfig:
        about = WORLDS[condition.world]
        steps = self.steps or SCALES[self.scale].steps or about.steps
        return TrainConfig(about.env, condition.setup.agent(steps, about.envs), self.seed, self.agents)

    def _setups(self, study: str, world: str) -> Iterator[Setup]:
        for setup in self._needed(study, world):
            chosen = not self.intrinsic or setup.intrinsic in self.intrinsic or setup.action == RANDOM
            if chosen and (not self.action_bonus or setup.action in (NONE, RANDOM, *self.action_bonus)):
                yield setup

    def _needed(self, study: str, world: str) -> Iterator[Setup]:
        """The setups that a study compares in a world, unless a choice is made."""
        scale = SCALES[self.scale]
        balanced = bool(self.worlds) or world in scale.balanced
        if study == WORTH:
            yield from (Setup(intrinsic) for intrinsic in INTRINSICS)
            if balanced:
                yield from (Setup(BASE, action) for action in (*ACTION_BONUSES, *BASELINES))
                yield Setup(NONE, RANDOM)
            # Where they are not planned, they can still be chosen by name.
            yield from (Setup(BASE, one) for one in CONSTANT if world in scale.constant or one in self.action_bonus)
        if study == COUNTING and world in COUNTED:
            yield from (Setup(intrinsic) for intrinsic in STATE_COUNTERS)
            yield from (Setup(BASE, action) for action in PAIR_COUNTERS if balanced)
        if study == MATRIX and world == MATRIX_WORLD:
            chosen = self.intrinsic or scale.matrix
            yield from (Setup(intrinsic, action) for intrinsic in chosen for action in ACTIONS)
