"""Base classes of the environment families; nothing here imports JAX.

A family is one frozen dataclass: its fields are the settings of an environment, its methods make the environment, and
its class attributes answer what the rest of the package would otherwise have to ask about a particular family. A family
of your own is such a class in any module; name it ``MODULE:CLASS``.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from action_balance.config.fields import Settings
from action_balance.errors import UserError, check_unused

if TYPE_CHECKING:
    import jax
    import numpy as np

    from action_balance.config.agent import HostConfig
    from action_balance.envs.base import Environment
    from action_balance.envs.host_base import HostEnvironment
    from action_balance.envs.replay import EpisodeRecord, Replay
    from action_balance.envs.scene import Scene
    from action_balance.envs.spec import EnvSpec
    from action_balance.files import Data


@dataclass(frozen=True)
class EnvConfig(Settings):
    """One environment and its settings. Inherit from `DeviceEnvConfig` or `HostEnvConfig`."""

    name: str = field(metadata={"metavar": "ENV"})
    """The environment: open, goal, corridor, deep-sea, lock, atari:GAME, gym:ID, gymnax:NAME, craftax:NAME,
    navix:ID, xminigrid:ID, or one of your own family, MODULE:CLASS."""

    #: Who steps it: the device, in one compiled program with the agent, or the host.
    engine: ClassVar[Literal["device", "host"]]
    #: What one environment of the family is called in a sentence, without an article.
    label: ClassVar[str] = "environment"
    order: ClassVar[int] = 100  # place of the family wherever families are listed; those of users come last
    forms: ClassVar[tuple[str, ...]] = ()  # how names of the family are written, for help texts
    #: Heading of its settings in help texts; None for the name of the class in lower case.
    settings_title: ClassVar[str | None] = None
    #: Set of settings that agents in the family have by default, by its name in `config.presets.PRESETS`.
    preset: ClassVar[str] = "study"
    #: Packages whose versions a run records, because results may depend on them.
    packages: ClassVar[tuple[str, ...]] = ()
    #: Whether observations are images; None if it depends on the particular environment.
    has_images: ClassVar[bool | None] = None
    uses_threads: ClassVar[bool] = False  # whether ``--threads`` has a meaning
    #: What the sum of an episode's rewards is called: its return, or the score of a game.
    outcome: ClassVar[Literal["return", "score"]] = "return"
    unit: ClassVar[str] = "episode"  # what one episode is called
    length_name: ClassVar[str] = "length"  # what the number of an episode's steps is called in tables
    end_name: ClassVar[str] = "task"  # what ends an episode, unless the time limit does
    frames_per_step: ClassVar[int | None] = None  # frames of a step, where that is worth reporting
    common_scale: ClassVar[bool] = False  # whether returns of different environments of the family may be averaged
    #: Numbers that the environment reports of every episode besides its return, by their names in `Step.info`.
    info_names: ClassVar[tuple[str, ...]] = ()
    #: Seconds between two checkpoints where they are too large for every 50 updates.
    checkpoint_seconds: ClassVar[float | None] = None

    @classmethod
    def preset_of(cls, name: str) -> str:
        """The default preset of an environment of the family."""
        del name
        return cls.preset

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Well-known names of the family, for suggestions and completion."""
        return tuple(form for form in cls.forms if ":" not in form)

    @classmethod
    def suggest(cls, name: str) -> str | None:
        """The name of this family that someone meant who wrote an unknown name; None if there is none."""
        del name
        return None

    @classmethod
    def with_article(cls) -> str:
        """The label with its article: ``a grid world``."""
        return f"{'an' if cls.label[0].lower() in 'aeiou' else 'a'} {cls.label}"

    @property
    def short_name(self) -> str:
        """What tables and legends call the environment."""
        return self.name

    @property
    def title(self) -> str:
        """What headings call the environment."""
        return self.short_name

    @property
    def slug(self) -> str:
        """The name as a part of a file name."""
        return re.sub(r"[^\w.-]", "-", self.name)

    @property
    def sort_key(self) -> tuple[int, int, str, tuple[Any, ...]]:
        """Orders environments: by family, place in the family, name, and settings, those that are None first."""
        place = self.forms.index(self.name) if self.name in self.forms else 0
        values = [getattr(self.comparable(), one.name) for one in fields(self) if one.name != "name"]
        return self.order, place, self.name, tuple((value is not None, value) for value in values)

    def with_function(self, make: Any) -> Self:
        """The same settings, with a function that makes the environment in place of its name.

        Args:
            make: makes one environment; or MODULE:FUNCTION, which is imported. Of some families, the environment.

        Returns:
            The settings; a `UserError` if environments of the family are not made by functions.
        """
        del make
        raise UserError(f"{self.name} was not created by a function: leave out env")

    def comparable(self) -> Self:
        """The same environment with explicit defaults and without settings that do not change what is learned."""
        return self

    @property
    def spec(self) -> "EnvSpec":
        """Observations and actions."""
        raise NotImplementedError

    def check_spec(self, spec: "EnvSpec") -> None:
        """Raise a `UserError` if the engine cannot step environments with this specification.

        Args:
            spec: observations and actions of this environment.
        """
        raise NotImplementedError

    def describe(self) -> str:
        """One line that users should read at the beginning of a run; empty if the name says it all."""
        return ""

    def check_host(self, host: "HostConfig") -> None:
        """Raise a `UserError` if a setting of how environments step on the host has no effect.

        Args:
            host: the settings.
        """
        raise NotImplementedError

    @classmethod
    def check_memory(cls) -> None:
        """Raise a `UserError` if the engine does not train agents with a recurrent memory."""

    def host_defaults(self, host: "HostConfig") -> "HostConfig":
        """How environments step on the host, with the defaults of this environment and of this machine.

        Args:
            host: the settings.

        Returns:
            The settings; those that are set are unchanged.
        """
        return host

    def spaces(self) -> "Data | None":
        """The environment's own spaces as plain data, which runs and agents keep; None where the spec says it all.

        Returns:
            What turns observations of the environment into what an agent sees, and its choices into actions, without
            the environment; as `action_balance.interop.inputs.Spaces` reads it.
        """
        return None

    def scene(self, environment: "Environment") -> "Scene | None":
        """How the states of an environment are drawn as a map; None if there is no map.

        Args:
            environment: one on the device, made by this family.

        Returns:
            The map.
        """
        del environment
        return None


@dataclass(frozen=True)
class DeviceEnvConfig(EnvConfig):
    """An environment that is compiled together with the agent."""

    engine: ClassVar[Literal["device", "host"]] = "device"

    def make(self, key: "jax.Array") -> "Environment":
        """Make the environment.

        Args:
            key: random key of whatever is drawn once per environment.

        Returns:
            The environment.
        """
        raise NotImplementedError

    def replay(self, environment: "Environment", record: "EpisodeRecord") -> "Replay | None":
        """An episode of an evaluation, to be played again for a film; None where there are no pictures.

        Args:
            environment: made by this family.
            record: what was played in it.

        Returns:
            The episode.
        """
        del environment, record
        return None

    @property
    def spec(self) -> "EnvSpec":
        """Observations and actions."""
        import jax

        return self.make(jax.random.key(0)).spec

    def check_spec(self, spec: "EnvSpec") -> None:
        """An environment on the device returns frames; where its spec is a stack, the engine stacks them."""
        if not spec.is_stack:
            return
        import jax

        environment, key = self.make(jax.random.key(0)), jax.random.key(0)
        frame = jax.eval_shape(lambda: environment.reset(key)[1])
        if frame.shape != spec.frame_shape:
            raise UserError(
                f"{self.name} returns observations of shape {frame.shape}, but its spec of kind {spec.kind} has frames "
                f"of shape {spec.frame_shape}: return single frames, which are stacked for the agent"
            )

    def check_host(self, host: "HostConfig") -> None:
        """No setting has an effect."""
        check_unused(host, [one.name for one in fields(host)], f"{self.name} does not run on the host")


@dataclass(frozen=True)
class HostEnvConfig(EnvConfig):
    """An environment that steps on the host, outside of compiled programs."""

    engine: ClassVar[Literal["device", "host"]] = "host"
    #: Most episodes that an evaluation plays at once, each in an environment of its own; None if it plays one after the
    episodes_at_once: ClassVar[int | None] = None  # other in as many environments as a training has
    #: Time limit of episodes in steps, for progress bars; None if it is not known.
    episode_steps: ClassVar[int | None] = None
    replays: ClassVar[bool] = False  # whether `replay` plays recorded episodes again
    has_rooms: ClassVar[bool] = False  # whether replays know the rooms that were visited

    @property
    def in_process(self) -> bool:
        """Whether it steps in the thread that calls it; others step in threads or processes of their own."""
        return True

    def check_spec(self, spec: "EnvSpec") -> None:
        """An environment on the host returns frames, which the engine stacks."""
        if not spec.is_stack:
            raise UserError(
                f"{self.name} steps on the host, and the kind of its spec is {spec.kind}: make it {spec.kind}-stack "
                f"of shape {(1, *spec.shape)}, or (K, ...) for a stack of the newest K frames"
            )

    def check_host(self, host: "HostConfig") -> None:
        """Not every family steps in threads."""
        if host.threads and not self.uses_threads:
            raise UserError(f"{self.with_article()} has no threads: leave out --threads")

    @classmethod
    def check_memory(cls) -> None:
        """Agents on the host have no recurrent memory."""
        raise UserError(f"{cls.with_article()} steps on the host, where agents have no memory: leave out --memory")

    def host_defaults(self, host: "HostConfig") -> "HostConfig":
        """The lag is 1 on a GPU, where acting and learning overlap.

        Environments that step in this process form one group: more would step in threads, which gains nothing, and not
        every environment allows it.
        """
        if host.lag is None:
            import jax

            host = replace(host, lag=int(jax.default_backend() != "cpu"))
        return replace(host, groups=1) if host.groups is None and self.in_process else host

    def make(
        self,
        envs: int,
        groups: int,
        seed: tuple[int, ...],
        threads: int = 0,
        on_message: Callable[[str], None] = lambda _: None,
    ) -> "HostEnvironment":
        """Make N environments that step in G groups.

        Args:
            envs: N.
            groups: G, a divisor of N.
            seed: random seed of all of them.
            threads: threads of each group; 0 for one per core.
            on_message: called with a line that the user should read, from any thread.

        Returns:
            The environments.
        """
        raise NotImplementedError

    def replay(
        self, seed: tuple[int, ...], number: int, actions: "np.ndarray", rewards: "np.ndarray", terminated: bool
    ) -> "Replay":
        """An episode that was recorded during an evaluation.

        Args:
            seed: random seed of all environments.
            number: number of the environment.
            actions: actions of the episode.
            rewards: raw rewards of the episode.
            terminated: whether the task ended it, and not the time limit.

        Returns:
            The episode, which can be played again.
        """
        raise NotImplementedError
