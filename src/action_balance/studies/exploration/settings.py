"""Settings of the exploration benchmark: its tasks, its methods, and what each scale trains."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from action_balance.config.agent import AgentConfig
from action_balance.config.env import EnvConfig
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES, NONE
from action_balance.config.presets import PRESETS
from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.studies.bonuses.settings import BASELINES, EXACT, RANDOM, Setup
from action_balance.studies.checks import check_count, check_names, check_seeds

#: How large the benchmark is.
ScaleName = Literal["small", "full"]

#: The method that others are compared with, the one without any bonus, and the paper's.
BASE, PLAIN, PAPER = "rnd", "ppo", "rnd+distillation"

#: The methods by name: next-state bonuses alone, action bonuses on top of RND, and what else can choose actions there.
METHODS: dict[str, Setup] = {
    RANDOM: Setup(NONE, RANDOM),
    PLAIN: Setup(NONE),
    **{name: Setup(name) for name in INTRINSIC_BONUSES},
    **{f"{BASE}+{name}": Setup(BASE, name) for name in (*ACTION_BONUSES, *BASELINES)},
}

#: Methods that need states that can be enumerated.
ENUMERATING = tuple(name for name, setup in METHODS.items() if EXACT in (setup.intrinsic, setup.action))

#: RND with an action bonus: action balance, the paper's first.
BALANCED = tuple(f"{BASE}+{name}" for name in ACTION_BONUSES)


def label(method: str) -> str:
    return "RND + distillation (paper)" if method == PAPER else METHODS[method].label


@dataclass(frozen=True)
class BenchmarkTask:
    """An environment, how long agents are trained in it, and what their score is."""

    title: str
    env_name: str
    steps: int
    """Environment steps of each agent in the full study."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of the environment."""
    envs: int = 64
    """Environments of each agent."""
    preset: str = "vectorized"
    """All other settings of its agents."""
    metric: str = "episode_return"
    """What is scored: the mean over the episodes that ended."""
    best: float = 1.0
    """The value of a perfect agent, which is a score of 1; a score of 0 is a value of 0."""
    enumerable: bool = False
    """Whether states can be enumerated, so that exact counts can be used."""
    note: str = ""
    """What a reader should know about the task."""

    @cached_property
    def env(self) -> EnvConfig:
        return env_config(self.env_name, **self.settings)

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(name for name in METHODS if self.enumerable or name not in ENUMERATING)

    def agent(self, method: str, steps: int) -> AgentConfig:
        """The settings of an agent, which differ between methods only in how the agent explores."""
        return METHODS[method].agent(steps, self.envs, PRESETS[self.preset])


def _deep_sea(size: int, steps: int) -> BenchmarkTask:
    note = "Reward 1 at the end of one of 2^N action sequences, for N steps per episode; every state is visible."
    return BenchmarkTask(
        *(f"deep sea {size}", "deep-sea", steps, {"size": size}),
        envs=8,
        preset="study",
        enumerable=True,
        note=note.replace("N", str(size)),
    )


_PARTIAL = "The agent sees the 7 x 7 cells ahead of it, and the policy has no memory."
_DOOR_KEY = f"Find a key, open a door with it and reach the goal. {_PARTIAL}"


def _minigrid(title: str, name: str, steps: int, note: str) -> BenchmarkTask:
    # Without memory, a policy can know that it carries a key only if it sees it.
    return BenchmarkTask(title, f"xminigrid:{name}", steps, {"show_carried": True}, note=note)


#: The tasks by name, in the order of tables.
TASKS: dict[str, BenchmarkTask] = {
    "deep-sea-10": _deep_sea(10, 120_000),
    "deep-sea-20": _deep_sea(20, 240_000),
    "deep-sea-30": _deep_sea(30, 480_000),
    "doorkey-5": _minigrid(
        "DoorKey 5x5", "MiniGrid-DoorKey-5x5", 500_000, f"{_DOOR_KEY} Easy: a check that agents learn."
    ),
    "doorkey-8": _minigrid("DoorKey 8x8", "MiniGrid-DoorKey-8x8", 1_000_000, _DOOR_KEY),
    "doorkey-16": _minigrid("DoorKey 16x16", "MiniGrid-DoorKey-16x16", 2_000_000, _DOOR_KEY),
    "key-corridor": _minigrid(
        *("KeyCorridor S3R2", "KeyCorridor-S3R2", 1_000_000),
        f"Search rooms along a corridor for a key, and unlock the one with the ball to pick it up. {_PARTIAL}",
    ),
    "multi-room": _minigrid(
        *("MultiRoom N4-S5", "MultiRoom-N4-S5", 1_000_000),
        f"Open three doors one after the other to reach a goal in the fourth room. {_PARTIAL}",
    ),
    "craftax-classic": BenchmarkTask(
        *("Craftax-Classic", "craftax:Craftax-Classic-Symbolic-v1", 1_000_000),
        metric="achievements",
        best=22,
        note="Survive, collect, craft: how many of 22 achievements an episode unlocks. The agent sees the 9 x 7 cells "
        "around it, and the policy has no memory.",
    ),
}

#: Tasks that are too easy for the full study.
EASY = {"deep-sea-10", "doorkey-5"}


def _duration(task: str) -> tuple[int, int]:
    """Orders tasks by how long they are trained, in updates of a preset, and then as in tables."""
    return TASKS[task].steps // TASKS[task].envs, list(TASKS).index(task)


@dataclass(frozen=True)
class Scale:
    """What the benchmark trains by default."""

    seeds: int
    tasks: dict[str, int | None]
    """The tasks in the order in which they are trained, with the steps of each agent; None for those of the task."""
    methods: tuple[str, ...]


SCALES: dict[str, Scale] = {
    # Without libraries that have to be installed first.
    "small": Scale(6, {"deep-sea-10": 40_000, "deep-sea-20": 60_000}, (PLAIN, BASE, "hash", PAPER, "rnd+hash")),
    # The longest tasks last: where time runs out, the others are complete.
    "full": Scale(32, dict.fromkeys(sorted(TASKS.keys() - EASY, key=_duration)), tuple(METHODS)),
}


@dataclass(frozen=True)
class Condition:
    """Agents with one method in one task, which are trained together."""

    task: str
    method: str

    @property
    def name(self) -> str:
        return f"{self.task}--{self.method}"

    @classmethod
    def of(cls, name: str) -> "Condition":
        task, _, method = name.partition("--")
        return cls(task, method)


@dataclass(frozen=True)
class ExplorationSettings:
    """Settings of ``reproduce exploration``. All others are those of the presets ``vectorized`` and ``study``."""

    scale: ScaleName = "small"
    """small: five methods in the deep sea with 6 seeds, 5 to 10 minutes on two cores. full: all tasks and methods with
    32 seeds, which needs a GPU."""
    seeds: int | None = None
    """Agents of each method in each task (default: 6; full: 32)."""
    seed: int = 0
    """Random seed of the first agent."""
    steps: int | None = None
    """Environment steps per agent (default: depends on the task)."""
    tasks: tuple[str, ...] = ()
    """Tasks to train and to report (default: depends on the scale; full: all)."""
    methods: tuple[str, ...] = ()
    """Methods to train and to report (default: depends on the scale; full: all). Those that need enumerable states are
    left out of other tasks."""

    def __post_init__(self) -> None:
        check_seeds(self.seed, self.agents)
        if self.steps is not None:
            check_count("--steps", self.steps)
        for kind, names, known in (("task", self.tasks, TASKS), ("method", self.methods, METHODS)):
            if names:
                check_names(kind, names, known)

    @property
    def agents(self) -> int:
        return SCALES[self.scale].seeds if self.seeds is None else self.seeds

    @property
    def chosen_tasks(self) -> tuple[str, ...]:
        """The tasks, in the order in which they are trained."""
        return self.tasks or tuple(SCALES[self.scale].tasks)

    def methods_in(self, task: str) -> tuple[str, ...]:
        """The chosen methods that can be used in a task, in the order of tables."""
        chosen = self.methods or SCALES[self.scale].methods
        return tuple(name for name in TASKS[task].methods if name in chosen)

    def plan(self) -> dict[str, TrainConfig]:
        return {one.name: self.config(one) for one in self.conditions()}

    def conditions(self) -> list[Condition]:
        return [Condition(task, method) for task in self.chosen_tasks for method in self.methods_in(task)]

    def config(self, condition: Condition) -> TrainConfig:
        about = TASKS[condition.task]
        steps = self.steps or SCALES[self.scale].tasks.get(condition.task) or about.steps
        return TrainConfig(about.env, about.agent(condition.method, steps), self.seed, self.agents)
