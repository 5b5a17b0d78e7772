"""Settings of one training run, as stored in its ``config.json``; nothing here imports JAX before it is needed."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from action_balance.config.agent import AgentConfig
from action_balance.config.env import DeviceEnvConfig, EnvConfig, HostEnvConfig
from action_balance.config.fields import Settings, count
from action_balance.config.network import OF_IMAGES, OF_NUMBERS, OF_VECTORS
from action_balance.config.presets import with_algorithm
from action_balance.config.serialization import from_dict, to_dict
from action_balance.config.stopping import StopCondition
from action_balance.config.trust import ALGORITHM, FAMILY, OF_GYMNASIUM, check_trusted
from action_balance.config.unloaded import unloaded, unloaded_class
from action_balance.errors import UserError, check_unused

if TYPE_CHECKING:
    import jax

    from action_balance.envs.base import Environment
    from action_balance.envs.scene import Scene
    from action_balance.envs.spec import EnvSpec

#: Updates between two checkpoints, unless the environment sets `checkpoint_seconds`.
CHECKPOINT_EVERY = 50


@dataclass(frozen=True)
class TrainConfig(Settings):
    """Settings of one training run."""

    env: EnvConfig
    agent: AgentConfig = field(default_factory=AgentConfig)
    seed: int = 0
    """Random seed of the first agent; the others use the seeds that follow."""
    seeds: int = count(1)
    """Number of agents to train together, one per seed; each is trained as it would be alone."""
    checkpoint_every: int | None = count(None)
    """Number of updates between checkpoints (default: 50, or five minutes where checkpoints are large)."""
    stop_when: tuple[str, ...] = field(default=(), metadata={"action": "append", "metavar": "CONDITION"})
    """Stop the run early once the mean of a metric over the seeds meets a condition, e.g.
    "return>=0.9"; can be repeated, and the first condition that is met stops the run."""
    devices: int | Literal["all"] | None = count(None)
    """Number of devices, such as GPUs, to split the seeds over, or the environments of each seed if there are fewer
    seeds than devices (default: one GPU, or one core per seed)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.seed < 2**31 - self.seeds:
            raise UserError(f"--seed must be 0 or more and below {2**31 - self.seeds}, not {self.seed}")
        _ = self.conditions
        if self.devices is not None and isinstance(self.env, HostEnvConfig):
            raise UserError(f"{self.env.name} runs on the host, so its environments cannot be split: omit --devices")
        self.env.check_host(self.agent.host)
        if self.agent.recurrent_units:
            self.env.check_memory()
        self._check_networks(self.env.has_images)

    @property
    def conditions(self) -> list[StopCondition]:
        """What `stop_when` says, checked."""
        algorithm = self.agent.algorithm
        own = any(":" in name for name in (algorithm.name, *self.agent.bonus_names))
        others = (*algorithm.metrics, *self.env.info_names)
        return [StopCondition.parse(text, own, others) for text in self.stop_when]

    def check_spec(self, spec: "EnvSpec") -> None:
        """Raise a `UserError` if a setting is of networks or actions that the agent does not have."""
        if spec.lists_actions:
            check_unused(self.agent.network, OF_NUMBERS, f"{self.env.name} has discrete actions")
            check_unused(self.agent.exploration, ("candidates",), f"{self.env.name} has discrete actions")
        if spec.is_mixed:
            self._check_networks(True, used={"hidden", "bonus_hidden"} if spec.vector else set())
        else:
            self._check_networks(spec.is_image)

    def _check_networks(self, images: bool | None, used: Collection[str] = frozenset()) -> None:
        """Check the settings of the networks for vectors, of which ``used`` have an effect beside images, or images."""
        if images is not None:
            agent = self.agent
            start = with_algorithm(agent.preset, agent.algorithm).network if agent.preset else None
            unused = [name for name in (OF_VECTORS if images else OF_IMAGES) if name not in used]
            why = f"{self.env.name} has {'images' if images else 'no images'}"
            check_unused(self.agent.network, unused, why, start)

    def with_defaults(self) -> "TrainConfig":
        """With the settings that a run on the host chooses when it begins; those that are set are unchanged."""
        return replace(self, agent=replace(self.agent, host=self.env.host_defaults(self.agent.host)))

    def environment(self, key: "jax.Array") -> "Environment":
        """The environment of one seed, on the device."""
        import jax

        if not isinstance(self.env, DeviceEnvConfig):
            raise TypeError(f"{self.env.name} runs on the host")
        return self.env.make(jax.random.fold_in(key, 1))

    def scene(self) -> "Scene | None":
        """The map of the first seed's environment; None if it has none."""
        import jax

        if self.env.engine == "host":
            return None
        return self.env.scene(self.environment(jax.random.key(self.seed)))

    def is_checkpoint_due(self, update: int, seconds: float) -> bool:
        """Whether to save a checkpoint."""
        if update == self.agent.updates:
            return True
        if self.checkpoint_every is None and self.env.checkpoint_seconds is not None:
            return seconds > self.env.checkpoint_seconds
        return update % (self.checkpoint_every or CHECKPOINT_EVERY) == 0

    @property
    def first_checkpoint(self) -> str:
        """When the first checkpoint is saved, for messages: ``update 50``, or ``5 minutes``."""
        if self.checkpoint_every is None and self.env.checkpoint_seconds is not None:
            return f"{self.env.checkpoint_seconds / 60:g} minutes"
        return f"update {min(self.checkpoint_every or CHECKPOINT_EVERY, self.agent.updates)}"

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return to_dict(self)

    @classmethod
    def from_dict(
        cls, data: dict[str, Any], trust: bool = False, typed: Collection[str] = (), typing: bool = False
    ) -> "TrainConfig":
        """From plain data, to be trained or evaluated."""
        if not trust:
            check_trusted(data, typed, typing)
        return cls._unloaded(data, FAMILY in typed, ALGORITHM in typed)

    @classmethod
    def _unloaded(cls, data: dict[str, Any], env: bool, algorithm: bool) -> "TrainConfig":
        """From plain data, without importing the family of the environment, or the algorithm, if they are a user's."""
        return from_dict(cls, unloaded(data, env, algorithm), partial(unloaded_class, env=env, algorithm=algorithm))

    @classmethod
    def of_run(cls, data: dict[str, Any], trust: bool = False, env: Any = None) -> "TrainConfig":
        """From the plain data of a run, to be trained further or evaluated, also in an environment of a function."""
        config = cls.from_dict(data, trust, () if env is None else OF_GYMNASIUM)
        return config if env is None else replace(config, env=config.env.with_function(env))

    @classmethod
    def for_display(cls, data: dict[str, Any]) -> "TrainConfig":
        """From plain data of anybody, to be shown or compared with others: no module that they name is imported."""
        return cls._unloaded(data, env=True, algorithm=True)

    @classmethod
    def of_agent(cls, data: dict[str, Any]) -> "TrainConfig":
        """From plain data, to act: the family of the environment is not imported."""
        return cls._unloaded(data, env=True, algorithm=False)
