"""Action balance exploration for reinforcement learning: the pieces that other agents can take.

`balance` adds a bonus vector to a policy's logits (Eq. 5), `Distillation` of two `BonusNet`s makes that vector (Eq. 2
and 4) and the bonus of a state (Eq. 1), `action_channel` shows an action to a convolution (Eq. 3), `RunningMeanStd` and
`ReturnScale` are the running statistics of observations and of intrinsic returns. `ActionBalance` and `RND` are all of
that for loops that know nothing of JAX: NumPy in, NumPy out. `train` and `resume` train our agent, as the command line
does.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from action_balance.bonuses.distillation import Distillation
    from action_balance.core.balance import balance, normalize
    from action_balance.core.embedding import action_channel, one_hot
    from action_balance.core.running_stats import ReturnScale, RunningMeanStd
    from action_balance.interop import RND, ActionBalance
    from action_balance.nets.bonus import BonusNet
    from action_balance.training import resume, train

__version__ = "0.1.0"

__all__ = [
    "RND",
    "ActionBalance",
    "BonusNet",
    "Distillation",
    "ReturnScale",
    "RunningMeanStd",
    "action_channel",
    "balance",
    "normalize",
    "one_hot",
    "resume",
    "train",
]

#: The modules that have them.
_HOMES = {
    "core.balance": ("balance", "normalize"),
    "bonuses.distillation": ("Distillation",),
    "core.embedding": ("action_channel", "one_hot"),
    "core.running_stats": ("RunningMeanStd", "ReturnScale"),
    "interop": ("ActionBalance", "RND"),
    "nets.bonus": ("BonusNet",),
    "training": ("resume", "train"),
}


def __getattr__(name: str) -> Any:
    """What needs JAX is imported when it is asked for: loading it takes seconds, and workers do without it."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """For completion."""
    return sorted({*globals(), *__all__})
