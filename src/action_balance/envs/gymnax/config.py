"""Settings of environments of gymnax, and of those with its interface; gymnax is imported when one is made."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

from action_balance.config.registry import check_code, describe_error, load_object
from action_balance.config.trust import is_of_script
from action_balance.envs.kwargs import as_kwargs, parse_kwargs
from action_balance.envs.library.config import LibraryEnvConfig
from action_balance.errors import UserError

if TYPE_CHECKING:
    from action_balance.envs.gymnax.environment import GymnaxAdapter

PREFIX = "gymnax:"

#: Tasks that Gymnasium has, too.
CONTROL = ("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "Pendulum-v1", "MountainCarContinuous-v0")

#: Environments of gymnax 0.0.9 without a download.
NAMES = (
    *CONTROL,
    *("Asterix-MinAtar", "Breakout-MinAtar", "Freeway-MinAtar", "SpaceInvaders-MinAtar"),
    *("Catch-bsuite", "DeepSea-bsuite", "MemoryChain-bsuite", "UmbrellaChain-bsuite", "DiscountingChain-bsuite"),
    *("FourRooms-misc", "MetaMaze-misc", "BernoulliBandit-misc", "GaussianBandit-misc", "Pong-misc"),
    *("Reacher-misc", "Swimmer-misc", "PointRobot-misc"),
)

#: The environment that downloads its data when it is made.
DOWNLOADS = "MNISTBandit-bsuite"


@dataclass(frozen=True)
class GymnaxConfig(LibraryEnvConfig):
    """An environment of gymnax, or one with its interface: a name, or MODULE:NAME of a class or function."""

    env_kwargs: str = field(default="", metadata={"nargs": "+", "metavar": "KEY=VALUE", "parse": parse_kwargs})
    """Keyword arguments of the environment: KEY=VALUE, or a JSON object."""

    label: ClassVar[str] = "gymnax environment"
    order: ClassVar[int] = 4
    forms: ClassVar[tuple[str, ...]] = (f"{PREFIX}NAME",)
    packages: ClassVar[tuple[str, ...]] = ("gymnax",)
    prefix: ClassVar[str] = PREFIX
    library: ClassVar[str] = "gymnax"
    known: ClassVar[tuple[str, ...]] = NAMES
    example: ClassVar[str] = NAMES[0]

    def __post_init__(self) -> None:
        object.__setattr__(self, "env_kwargs", as_kwargs(self.env_kwargs))
        super().__post_init__()

    @classmethod
    def preset_of(cls, name: str) -> str:
        """A task has the settings that it has in Gymnasium: what is learned does not depend on the library."""
        return "classic" if name.removeprefix(PREFIX) in CONTROL else cls.preset

    @classmethod
    def suggest(cls, name: str) -> str | None:
        return f"{PREFIX}{name}" if name in NAMES and not name.rpartition("-v")[2].isdigit() else None

    @classmethod
    def from_function(cls, make: Any, **settings: Any) -> Self:
        made = make[0] if isinstance(make, tuple) else make
        kind = made if isinstance(made, type) else type(made)
        named = f"{kind.__module__}:{kind.__qualname__}" if isinstance(made, type) else f"<{kind.__qualname__}>"
        return cls(f"{PREFIX}{named}", **settings).with_function(make)

    @property
    def is_own(self) -> bool:
        """Whether the environment is not one of gymnax itself."""
        return ":" in self.short_name or is_of_script(self.name)

    def check_installed(self) -> None:
        """An environment of one's own does not need gymnax."""
        if not self.is_own:
            super().check_installed()

    def make_adapter(self) -> "GymnaxAdapter":
        if is_of_script(self.name):
            raise UserError(
                f"{self.name} was made in Python: pass it again, with env=ENVIRONMENT in Python or --env MODULE:NAME "
                f"on the command line"
            )
        kwargs = json.loads(self.env_kwargs or "{}")
        if self.is_own:
            return self._adapt(_made(self.name, load_object(self.short_name), kwargs))
        import gymnax

        self.check_known(gymnax.registered_envs)
        if self.short_name == DOWNLOADS:
            raise UserError(f"{self.name} downloads the MNIST data when it is made: choose another environment")
        return self._adapt(_called(self.name, partial(gymnax.make, self.short_name), kwargs))

    def with_function(self, make: Any) -> Self:
        """The same settings, with an environment in place of its name."""
        named = make if isinstance(make, str) else self.name
        if isinstance(make, str):
            make = load_object(make.removeprefix(PREFIX))
        made = replace(self)
        env = _made(named, make, json.loads(self.env_kwargs or "{}"))
        made.__dict__["adapter"] = made._adapt(env)  # where `cached_property` keeps it
        return made

    def _adapt(self, made: Any) -> "GymnaxAdapter":
        from action_balance.envs.gymnax.environment import GymnaxAdapter
        from action_balance.envs.library.adapter import quiet

        env, params = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
        with quiet():
            return GymnaxAdapter(self.name, env, params, self.max_steps)


def _made(name: str, found: Any, kwargs: dict[str, Any]) -> Any:
    """The environment that a class or function makes, or that is already made."""
    is_made = isinstance(found, tuple) or hasattr(found, "step_env") or hasattr(found, "step")
    if is_made and not isinstance(found, type):
        return found
    check_code(name, found)
    return _called(name, found, kwargs)


def _called(name: str, make: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """What a class or function makes; whatever it raises is one line."""
    try:
        return make(**kwargs)
    except (UserError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit, too
        raise UserError(f"{name} cannot be made: {describe_error(error)}; check --env-kwargs") from None
