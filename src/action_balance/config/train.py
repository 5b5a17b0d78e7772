"""One training run: what is stored as ``config.json``."""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import jax

from action_balance.config.agent import Config
from action_balance.config.serialization import from_dict as build
from action_balance.envs.base import Environment
from action_balance.envs.registry import EnvConfig, make
from action_balance.errors import UserError, flag


@dataclass(frozen=True)
class TrainConfig:
    """One training run: what is stored as ``config.json``."""

    env: EnvConfig
    agent: Config = field(default_factory=Config)
    seed: int = 0
    """Seed of the first agent; the others follow."""
    seeds: int = 1
    """Agents that are trained together, each as it would be alone."""
    checkpoint_every: int | None = None
    """Updates between two checkpoints; usual: 50, or what takes five minutes in Atari."""

    def __post_init__(self) -> None:
        for name in ("seeds", "checkpoint_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"{flag(name)} must be 1 or more, not {value}")
        if not 0 <= self.seed < 2**31 - self.seeds:
            raise UserError(f"--seed must be 0 or more and below {2**31 - self.seeds}, not {self.seed}")

        if self.env.on_host:
            self._check_on_host()
            return
        if self.agent.traits.embedding == "channel":
            raise UserError(f"an action channel is for images, and {self.env.name} has none: use action-balance-rnd")
        _check_unused(self.agent.image, f"{self.env.name} has no images")
        _check_unused(self.agent.host, f"{self.env.name} does not run on the host")

    def _check_on_host(self) -> None:
        kind = "an Atari game" if self.env.game is not None else "a Gymnasium environment"
        if self.agent.traits.next_state == "count":
            raise UserError(f"states of {kind} cannot be counted: use another --method, e.g. rnd")
        if self.env.game is not None:
            _check_unused(self.agent.net, "an Atari game has networks for images")
        elif self.agent.host.threads:
            raise UserError("--threads is for emulators of Atari: leave it out, or use --vectorize async")

    def check_networks(self, images: bool) -> None:
        """That no setting is of networks that a Gymnasium environment has not; known when it was made."""
        if images:
            _check_unused(self.agent.net, f"{self.env.name} has images")
            return
        _check_unused(self.agent.image, f"{self.env.name} has no images")
        if self.agent.traits.embedding == "channel":
            raise UserError(f"an action channel is for images, and {self.env.name} has none: use action-balance-rnd")

    def with_defaults(self) -> "TrainConfig":
        """With what a run on the host chooses when it begins, where it was not asked for.

        The lag is 1 on a GPU, where acting and learning overlap. Environments that step in this process are one group:
        more would step in threads, which gains nothing, and which not every environment bears.
        """
        host = self.agent.host
        if not self.env.on_host:
            return self
        if host.lag is None:
            host = replace(host, lag=int(jax.default_backend() != "cpu"))
        if host.groups is None and self.env.in_process:
            host = replace(host, groups=1)
        return replace(self, agent=replace(self.agent, host=host))

    def environment(self, key: jax.Array) -> Environment:
        """The environment of the seed with this key."""
        return make(self.env, jax.random.fold_in(key, 1))

    def as_data(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> "TrainConfig":
        """From plain data; a `UserError` where a setting is not known, missing or of another kind."""
        made: TrainConfig = build(cls, data)
        return made


def _check_unused(settings: Any, why: str) -> None:
    for one in fields(settings):
        if getattr(settings, one.name) != one.default:
            raise UserError(f"{why}: leave out {flag(one.name)}")
