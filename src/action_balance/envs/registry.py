"""The environments that the neural agent can be trained in, by name."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import jax

from action_balance.envs.atari.emulator import PAPER_GAMES, SIZE, STACK, Atari, check_game, count_actions
from action_balance.envs.base import Environment
from action_balance.envs.deep_sea import DeepSea, check_depth
from action_balance.envs.grid.environment import GridEnvironment, View
from action_balance.envs.grid.maps import corridor_world, goal_world, open_world
from action_balance.envs.grid.world import GridWorld
from action_balance.envs.host_base import HostEnvironment
from action_balance.envs.spec import EnvSpec
from action_balance.errors import MOST, UserError, check_name, check_numbers, flag

if TYPE_CHECKING:
    from action_balance.envs.gymnasium.make import Make, Task

#: Name and usual size: cells along a side, of a room in the corridor, or N of the deep sea.
SIZES = {"open": 40, "goal": 40, "corridor": 11, "deep-sea": 20}

#: What the name of an Atari game begins with, and those of the paper.
PREFIX = "atari:"
ATARI = tuple(f"{PREFIX}{game}" for game in PAPER_GAMES)

#: What the name of a Gymnasium environment begins with.
GYM = "gym:"
#: How environments of Gymnasium are stepped together.
Vectorize = Literal["sync", "async", "own"]

#: The largest side of a grid world, or of its rooms: visits are counted for every cell and seed.
LARGEST = 1000


@dataclass(frozen=True)
class EnvConfig:
    """Which environment, and how it is seen."""

    name: str = field(metadata={"metavar": "ENV"})
    """open, goal, corridor, deep-sea, atari:GAME, or gym:ID."""
    size: int | None = None
    """Cells along a side, of a room in the corridor, or N of the deep sea; usual: 40, 40, 11, 20."""
    episode_steps: int = 200
    """Time limit of the grid worlds; an episode in the deep sea has N steps."""
    view: View = "one-hot"
    """What is seen of a cell of a grid world: one-hot x and y, or scaled coordinates."""
    env_kwargs: str = field(default="", metadata={"metavar": "KEY=VALUE", "parse": lambda words: parse_kwargs(words)})
    """Arguments of a Gymnasium environment, as a JSON object."""
    wrapper: tuple[str, ...] = field(default=(), metadata={"metavar": "MODULE:NAME", "repeat": True})
    """Wrappers of a Gymnasium environment as MODULE:NAME, applied in order."""
    vectorize: Vectorize = "sync"
    """How Gymnasium environments step together: in this process, each in its own, or by their own vector class."""
    stack: int = 1
    """Newest observations of a Gymnasium environment that the policy sees."""
    reward_scale: float = 1.0
    """What the rewards of a Gymnasium environment are multiplied by for learning."""

    def __post_init__(self) -> None:
        if self.name in (PREFIX, PREFIX[:-1]):
            raise UserError(f"{self.name} needs a game: e.g. {ATARI[2]}")
        if self.name == GYM[:-1] or self.gym == "":
            raise UserError(f"{self.name} needs the id of an environment: e.g. gym:CartPole-v1")
        if self.gym is not None:
            self._check_gym()
            return
        for name in ("env_kwargs", "wrapper", "vectorize", "stack", "reward_scale"):
            if getattr(self, name) != getattr(EnvConfig, name):
                raise UserError(f"{flag(name)} is for Gymnasium environments (gym:ID), not {self.name}: leave it out")
        if self.game is not None:
            self._check_game(self.game)
            return
        if f"atari:{self.name}" in ATARI:
            raise UserError(f"unknown environment '{self.name}': did you mean atari:{self.name}?")
        if _looks_like_an_id(self.name):
            raise UserError(f"unknown environment '{self.name}': did you mean gym:{self.name}?")
        check_name("environment", self.name, (*SIZES, *ATARI))
        check_name(flag("view"), self.view, get_args(View))
        check_numbers(self, "episode_steps", low=1, high=MOST)
        if self.name == "deep-sea" and (self.episode_steps != 200 or self.view != "one-hot"):
            raise UserError("episodes and view of the deep sea are given: leave out --episode-steps and --view")
        if self.name == "deep-sea":
            check_depth(self.cells)
        else:
            check_numbers(self, *(["size"] if self.size is not None else []), low=1, high=LARGEST)
            _grid(self)

    def _check_game(self, game: str) -> None:
        check_game(game)
        for name in ("size", "episode_steps", "view"):
            if getattr(self, name) != getattr(EnvConfig, name):
                raise UserError(f"an Atari game has no {flag(name)}: leave it out")

    def _check_gym(self) -> None:
        for name in ("size", "episode_steps", "view"):
            if getattr(self, name) != getattr(EnvConfig, name):
                raise UserError(f"a Gymnasium environment has no {flag(name)}: use --env-kwargs")
        check_name(flag("vectorize"), self.vectorize, get_args(Vectorize))
        check_numbers(self, "stack", low=1, high=64)
        check_numbers(self, "reward_scale", above=True)
        try:
            whole = isinstance(json.loads(self.env_kwargs or "{}"), dict)
        except ValueError:
            whole = False
        if not whole:
            raise UserError(f"--env-kwargs {self.env_kwargs:.40} is no JSON object")

    @property
    def gym(self) -> str | None:
        """The id of a Gymnasium environment, or MODULE:ID, or MODULE:FUNCTION; None for all else."""
        return self.name.removeprefix(GYM) if self.name.startswith(GYM) else None

    @property
    def on_host(self) -> bool:
        """Whether it runs on the host; otherwise it is compiled with the agent."""
        return self.game is not None or self.gym is not None

    @property
    def in_process(self) -> bool:
        """Whether it runs on the host and steps in the thread that asks it to; others step aside."""
        return self.gym is not None and self.vectorize != "async"

    @property
    def game(self) -> str | None:
        """The Atari game; None for all else."""
        return self.name.removeprefix(PREFIX) if self.name.startswith(PREFIX) else None

    @property
    def packages(self) -> tuple[str, ...]:
        """What it runs on besides JAX, and what happens in it may depend on."""
        return ("ale-py", "gymnasium") if self.game is not None else ("gymnasium",) if self.gym is not None else ()

    @property
    def cells(self) -> int:
        """The size, asked for or usual."""
        return self.size if self.size is not None else SIZES[self.name]


@dataclass(frozen=True)
class HostEnvSpec:
    """What a trainer has to know of environments on the host before there are any, and how to make them."""

    observation_shape: tuple[int, ...]
    """(K, ...)."""
    dtype: str
    """Of a frame."""
    actions: int | tuple[int, ...]
    """A, or the choices of each component."""
    make: Callable[[int, int, tuple[int, ...], int], HostEnvironment]
    """Makes N environments in G groups, with a seed, and so many threads of emulators (0: one per core)."""
    layout: str = ""
    """What is seen, in one line, where the user does not know."""
    seen: EnvSpec | None = None
    """What a run keeps of it, where its config does not say all."""


def host_env_spec(
    config: EnvConfig, make: "Make | None" = None, say: Callable[[str], None] = lambda _: None
) -> HostEnvSpec:
    """The environments of an Atari game or of Gymnasium. One of Gymnasium is made, and tried out.

    Args:
        config: of the environment.
        make: makes one, in place of the name.
        say: is called with what the user should know while they run.
    """
    if config.game is not None:
        game = config.game
        return HostEnvSpec(
            (STACK, SIZE, SIZE),
            "uint8",
            count_actions(game),
            lambda n, g, seed, threads: Atari(game, n, g, seed, threads),
        )
    task = gym_task(config, make)

    def environments(envs: int, groups: int, seed: tuple[int, ...], _: int) -> HostEnvironment:
        from action_balance.envs.gymnasium.vector import GymEnvironment

        more: tuple[Any, ...] = (config.vectorize, config.stack, config.reward_scale, say)
        return GymEnvironment(task, envs, groups, seed, *more)

    layout, actions = task.layout, task.choices.actions
    seen = EnvSpec(layout.shape, layout.dtype, layout.places, actions)
    told = f"what is seen: {layout.describe()}"
    return HostEnvSpec((config.stack, *layout.shape), layout.dtype, actions, environments, told, seen)


def gym_task(config: EnvConfig, make: "Make | None" = None) -> "Task":
    """The environment of Gymnasium that a config names, or that a function makes."""
    if config.gym is None:
        raise ValueError(f"{config.name} is not of Gymnasium")
    from action_balance.envs.gymnasium.make import examine, find

    if make is not None:
        return examine(config.name, make, config.vectorize)
    return find(config.gym, json.loads(config.env_kwargs or "{}"), config.wrapper, config.vectorize)


def _looks_like_an_id(name: str) -> bool:
    """Whether somebody has left out ``gym:``."""
    return name.rpartition("-v")[2].isdigit()


def make(config: EnvConfig, key: jax.Array) -> Environment:
    """The environment; what is random about it is drawn from the key."""
    return DeepSea(config.cells, key) if config.name == "deep-sea" else GridEnvironment(_grid(config), config.view)


def _grid(config: EnvConfig) -> GridWorld:
    size = config.cells
    if config.name == "open":
        return open_world(size, config.episode_steps)
    if config.name == "goal":
        return goal_world((size * 2 // 5, size * 2 // 5), size, config.episode_steps)
    return corridor_world(size, episode_steps=config.episode_steps)


def parse_kwargs(words: Sequence[str]) -> str:
    """Arguments of an environment, given as KEY=VALUE or as JSON, as one JSON object; empty without any."""
    found: dict[str, Any] = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not word.lstrip().startswith("{") and equals and key.isidentifier():
            try:
                found[key] = json.loads(value)
            except ValueError:
                found[key] = {"True": True, "False": False, "None": None}.get(value, value)
            continue
        try:
            given = json.loads(word)
        except ValueError:
            given = None
        if not isinstance(given, dict):
            raise UserError(f"--env-kwargs {word:.40} is neither KEY=VALUE nor a JSON object, e.g. size=6")
        found |= given
    return json.dumps(found, sort_keys=True) if found else ""
