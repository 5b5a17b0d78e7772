"""Settings of Gymnasium environments; Gymnasium itself is imported when one is made."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from action_balance.config.env import HostEnvConfig
from action_balance.config.fields import count, number
from action_balance.envs.gymnasium.layouts import MAX_SIDE, LayoutSettings, ObsLayout
from action_balance.envs.kwargs import as_kwargs, parse_kwargs
from action_balance.envs.spec import EnvSpec
from action_balance.errors import MAX, UserError

if TYPE_CHECKING:
    import numpy as np
    from gymnasium import Env

    from action_balance.envs.gymnasium.make import ExaminedEnv
    from action_balance.envs.host_base import HostEnvironment
    from action_balance.envs.replay import Replay
    from action_balance.files import Data

PREFIX = "gym:"

#: How environments step together: one after the other, each in its own process, or by their own vector class.
Vectorize = Literal["sync", "async", "own"]

#: Whether the action masks of environments that have them are respected.
ActionMasks = Literal["auto", "ignore"]


def check_maker(make: Any) -> None:
    if hasattr(make, "step") and hasattr(make, "reset") and not isinstance(make, type):
        kind = type(getattr(make, "unwrapped", make)).__name__
        raise UserError(
            f"this is a single environment, a {kind}, but training creates several: pass a function that creates one, "
            f"e.g. lambda: {kind}(), or a name, e.g. gym:CartPole-v1"
        )
    if not callable(make):
        raise UserError(f"{make!r:.80} is neither a name nor a function that creates an environment")


@dataclass(frozen=True)
class GymnasiumConfig(HostEnvConfig):
    """A Gymnasium environment: an id, MODULE:ID, or MODULE:FUNCTION."""

    env_kwargs: str = field(default="", metadata={"nargs": "+", "metavar": "KEY=VALUE", "parse": parse_kwargs})
    """Keyword arguments of the environment: KEY=VALUE, or a JSON object."""
    wrapper: tuple[str, ...] = field(default=(), metadata={"action": "append", "metavar": "MODULE:NAME"})
    """Wrapper of the environment; several are applied in order."""
    vectorize: Vectorize = "sync"
    """How environments step together: sync (in this process), async (each in its own process) or own (by their own
    vector class)."""
    stack: int = count(1, 64)
    """Number of most recent observations that the policy sees."""
    layout: ObsLayout = "auto"
    """How arrays of observations are laid out: auto (arrays of 44 x 44 pixels or more are images, and their other axes
    are channels), hwc or chw (images with channels last or first), stack (K images, of which bonuses see only the
    newest), vector, or flat (a Dict is one vector, and discrete values are one-hot, however many there
    are)."""
    max_image_side: int = number(MAX_SIDE, high=MAX)
    """Longest side of an image, in pixels. Larger images are downscaled by averaging blocks of k x k pixels, with the
    smallest k that suffices; 0: images keep their size."""
    reward_scale: float = number(1.0, above=True)
    """Factor that multiplies the rewards the agent learns from; reported returns are not scaled."""
    action_masks: ActionMasks = "auto"
    """Action masks of the environment: auto (applied if there are any) or ignore."""

    label: ClassVar[str] = "Gymnasium environment"
    order: ClassVar[int] = 3
    forms: ClassVar[tuple[str, ...]] = ("gym:ID",)
    preset: ClassVar[str] = "classic"
    packages: ClassVar[tuple[str, ...]] = ("gymnasium",)
    replays: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.name in (PREFIX, PREFIX[:-1]):
            raise UserError(f"{self.name} needs the id of an environment, e.g. {PREFIX}CartPole-v1")
        object.__setattr__(self, "env_kwargs", as_kwargs(self.env_kwargs))
        object.__setattr__(self, "wrapper", tuple(self.wrapper))
        super().__post_init__()

    @classmethod
    def from_function(cls, make: "Callable[[], Env[Any, Any]]", **settings: Any) -> Self:
        check_maker(make)
        name = getattr(make, "__qualname__", type(make).__name__)
        return cls(f"{PREFIX}{getattr(make, '__module__', '__main__')}:{name}", **settings).with_function(make)

    @classmethod
    def suggest(cls, name: str) -> str | None:
        """The same with the prefix, if it looks like an id."""
        return f"{PREFIX}{name}" if name.rpartition("-v")[2].isdigit() else None

    @property
    def short_name(self) -> str:
        return self.name.removeprefix(PREFIX)

    @property
    def in_process(self) -> bool:
        return self.vectorize != "async"

    def comparable(self) -> Self:
        """Without who steps it, and without what becomes of its masks, which is a part of the method."""
        return replace(self, vectorize="sync", action_masks="auto")

    @cached_property
    def examined(self) -> "ExaminedEnv":
        from action_balance.envs.gymnasium.make import find

        kwargs = json.loads(self.env_kwargs or "{}")
        return find(self.short_name, kwargs, self.wrapper, self.vectorize, *self._how)

    @property
    def _how(self) -> tuple[bool, LayoutSettings]:
        """Whether there are masks, and how observations are laid out."""
        return self.action_masks == "auto", LayoutSettings(self.layout, self.max_image_side)

    def with_function(self, make: "Callable[[], Env[Any, Any]] | str") -> Self:
        """The same settings, with a function that makes the environment in place of its name."""
        from action_balance.envs.gymnasium.make import examine, load_maker

        make = load_maker(make) if isinstance(make, str) else make
        check_maker(make)
        made = replace(self)
        # Where `cached_property` keeps it.
        made.__dict__["examined"] = examine(self.name, make, self.vectorize, *self._how)
        return made

    @property
    def spec(self) -> EnvSpec:
        return self.examined.spec(self.stack)

    def make(
        self,
        envs: int,
        groups: int,
        seed: tuple[int, ...],
        threads: int = 0,
        on_message: Callable[[str], None] = lambda _: None,
    ) -> "HostEnvironment":
        from action_balance.envs.gymnasium.vector import GymEnvironment

        del threads
        return GymEnvironment(
            self.examined, envs, groups, seed, self.vectorize, self.stack, self.reward_scale, on_message
        )

    def spaces(self) -> "Data":
        leaves = self.examined.layout.encoding.leaves
        return {"leaves": [asdict(leaf) for leaf in leaves], **self.examined.choices.plain()}

    def describe(self) -> str:
        masks = "; masked actions are never chosen" if self.examined.masks else ""
        return f"observations: {self.examined.layout.describe()}{masks}"

    def replay(
        self, seed: tuple[int, ...], number: int, actions: "np.ndarray", rewards: "np.ndarray", terminated: bool
    ) -> "Replay":
        from action_balance.envs.gymnasium.replay import GymReplay
        from action_balance.envs.gymnasium.vector import env_seeds

        seed_of = int(env_seeds(seed, number + 1)[number])
        return GymReplay(self.examined.name, actions, rewards, terminated, self.examined, seed_of)
