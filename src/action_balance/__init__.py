"""Action balance exploration for reinforcement learning: building blocks for other agents, and a complete agent.

`balance` adds a vector of bonuses to the logits of a policy (Eq. 5). `Distillation` of two `BonusNet`s computes that
vector (Eq. 2 and 4) and the bonus of a state (Eq. 1). `action_channel` shows an action to a convolution (Eq. 3).
`RunningMeanStd` and `ReturnScale` are running statistics of observations and of intrinsic returns. `ActionBalance` and
`IntrinsicBonus`, also called `RND`, do all of that for training loops without JAX: NumPy in, NumPy out. `train` and
`resume` train our agent, like the commands of the same name, and return a `Run`; `load` reads an `Agent` that was
trained.
"""

import importlib
from typing import TYPE_CHECKING, Any

from action_balance._version import __version__ as __version__

if TYPE_CHECKING:
    from action_balance.api.run import Run
    from action_balance.bonuses.distillation import Distillation
    from action_balance.config.agent import AgentConfig
    from action_balance.config.presets import agent_config
    from action_balance.core.balance import balance, normalize
    from action_balance.core.embedding import action_channel, one_hot
    from action_balance.core.running_stats import ReturnScale, RunningMeanStd
    from action_balance.engines.callbacks import Update
    from action_balance.errors import UserError
    from action_balance.interop import RND, ActionBalance, IntrinsicBonus
    from action_balance.nets.bonus import BonusNet
    from action_balance.trained.agent import Agent
    from action_balance.trained.loading import load
    from action_balance.training import resume, train

__all__ = [
    "RND",
    "ActionBalance",
    "Agent",
    "AgentConfig",
    "BonusNet",
    "Distillation",
    "IntrinsicBonus",
    "ReturnScale",
    "Run",
    "RunningMeanStd",
    "Update",
    "UserError",
    "action_channel",
    "agent_config",
    "balance",
    "load",
    "normalize",
    "one_hot",
    "resume",
    "train",
]

#: Modules that hold the public names.
_HOMES = {
    "config.agent": ("AgentConfig",),
    "config.presets": ("agent_config",),
    "core.balance": ("balance", "normalize"),
    "bonuses.distillation": ("Distillation",),
    "core.embedding": ("action_channel", "one_hot"),
    "core.running_stats": ("RunningMeanStd", "ReturnScale"),
    "engines.callbacks": ("Update",),
    "errors": ("UserError",),
    "interop": ("ActionBalance", "IntrinsicBonus", "RND"),
    "nets.bonus": ("BonusNet",),
    "api.run": ("Run",),
    "trained.agent": ("Agent",),
    "trained.loading": ("load",),
    "training": ("resume", "train"),
}


def __getattr__(name: str) -> Any:
    """Import what needs JAX on first use: loading it takes seconds, and worker processes do without it."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """The public names."""
    return sorted([*__all__, "__version__"])
