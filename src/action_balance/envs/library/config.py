"""Settings that the environment libraries written in JAX share; a library is imported when one is made."""

import importlib.metadata
import importlib.util
import textwrap
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from action_balance.config.env import DeviceEnvConfig
from action_balance.config.fields import count
from action_balance.errors import UserError, nearest
from action_balance.files import install, missing

if TYPE_CHECKING:
    import jax

    from action_balance.envs.base import Environment
    from action_balance.envs.library.adapter import Adapter
    from action_balance.envs.replay import EpisodeRecord, Replay
    from action_balance.envs.spec import EnvSpec


@dataclass(frozen=True)
class LibraryEnvConfig(DeviceEnvConfig):
    """An environment of a library written in JAX. A family has `prefix`, `library`, `known`, `example` and
    `make_adapter`."""

    stack: int = count(1, 64)
    """Number of most recent observations that the policy sees."""
    max_steps: int | None = count(None)
    """Time limit of an episode, in steps (default: that of the library)."""

    #: The beginning of names of the family, with its colon.
    prefix: ClassVar[str]
    #: Module of the library, which is also the name of its package and of the extra that installs it.
    library: ClassVar[str]
    #: Names of the library's environments, without the prefix.
    known: ClassVar[tuple[str, ...]]
    #: One of them.
    example: ClassVar[str]
    preset: ClassVar[str] = "vectorized"

    def __post_init__(self) -> None:
        if not self.short_name:
            raise UserError(f"{self.name} needs the name of an environment, e.g. {self.prefix}{self.example}")
        super().__post_init__()

    @classmethod
    def names(cls) -> tuple[str, ...]:
        return tuple(f"{cls.prefix}{name}" for name in cls.known)

    @classmethod
    def suggest(cls, name: str) -> str | None:
        return f"{cls.prefix}{name}" if name in cls.known else None

    @property
    def short_name(self) -> str:
        return "" if f"{self.name}:" == self.prefix else self.name.removeprefix(self.prefix)

    def check_known(self, known: Collection[str]) -> None:
        wanted = self.short_name
        if wanted in known:
            return
        exact = {one.lower(): one for one in known}
        begins = [one for one in known if one.lower().startswith(wanted.lower())]
        near = exact.get(wanted.lower()) or next(iter(begins), None) or nearest(wanted, known)
        hint = f"did you mean {self.prefix}{near}?" if near else "see action-balance list tasks"
        raise UserError(f"unknown environment '{self.name}': {hint}")

    def check_installed(self) -> None:
        if importlib.util.find_spec(self.library) is None:
            raise missing(self.library, self.name, self.library)

    def make_adapter(self) -> "Adapter":
        raise NotImplementedError  # every family has its own, as with `DeviceEnvConfig.make`

    @cached_property
    def adapter(self) -> "Adapter":
        import jax

        from action_balance.envs.library.adapter import quiet

        self.check_installed()
        # Also while a program is traced: what a library computes when it is imported must not belong to that program.
        with jax.ensure_compile_time_eval(), quiet():
            try:
                return self.make_adapter()
            except (ImportError, AttributeError, TypeError) as error:
                if importlib.util.find_spec(self.library) is None:  # an environment of the user
                    raise
                version = importlib.metadata.version(self.library)
                reason = textwrap.shorten(f"{type(error).__name__}: {error}", 120, placeholder=" ...")
                raise UserError(
                    f"{self.name} does not work with {self.library} {version} ({reason}): {install(self.library)} for "
                    f"a version that does"
                ) from error

    @property
    def spec(self) -> "EnvSpec":
        one = self.adapter.spec
        kind: Any = f"{one.kind}-stack"
        return one if self.stack == 1 else replace(one, kind=kind, shape=(self.stack, *one.shape))

    def make(self, key: "jax.Array") -> "Environment":
        from action_balance.envs.library.environment import LibraryEnvironment

        del key
        return LibraryEnvironment(self.adapter, self.max_steps or self.adapter.episode_steps)

    def replay(self, environment: "Environment", record: "EpisodeRecord") -> "Replay":
        from action_balance.envs.library.environment import LibraryEnvironment
        from action_balance.envs.library.replay import LibraryReplay

        assert isinstance(environment, LibraryEnvironment)
        reset_key, step_keys, actions, rewards, terminated = record
        return LibraryReplay(self.name, actions, rewards, terminated, environment, reset_key, step_keys)
