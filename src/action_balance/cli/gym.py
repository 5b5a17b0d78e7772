"""The flags of ``train`` for Gymnasium environments. No logic."""

from dataclasses import dataclass
from typing import Annotated, Any, Self

import tyro

from action_balance.config.env import EnvConfig
from action_balance.envs.gymnasium.config import GymnasiumConfig, Vectorize, parse_kwargs


@dataclass(frozen=True)
class GymFlags:
    """Gymnasium environments."""

    env_kwargs: Annotated[tuple[str, ...], tyro.conf.arg(metavar="KEY=VALUE")] = ()
    """Arguments of a Gymnasium environment, each KEY=VALUE, or a JSON object."""
    wrapper: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="MODULE:NAME")] = ()
    """A wrapper of a Gymnasium environment; given several times, they are applied in order."""
    vectorize: Vectorize = "sync"
    """How Gymnasium environments step together: in this process, each in its own, or by their own vector class."""
    stack: int = 1
    """Newest observations of a Gymnasium environment that the policy sees."""
    reward_scale: float = 1.0
    """What rewards of a Gymnasium environment are multiplied by for learning; returns are told as they are."""

    @classmethod
    def of(cls, env: EnvConfig) -> Self:
        """Those that give an environment."""
        if not isinstance(env, GymnasiumConfig):
            return cls()
        words = (env.env_kwargs,) if env.env_kwargs else ()
        return cls(words, env.wrapper, env.vectorize, env.stack, env.reward_scale)

    def settings(self) -> dict[str, Any]:
        """The settings of the family."""
        return {**vars(self), "env_kwargs": parse_kwargs(self.env_kwargs)}
