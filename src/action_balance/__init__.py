"""Action balance exploration for reinforcement learning: the pieces that other agents can take.

`balance` adds a bonus vector to a policy's logits (Eq. 5), `Distillation` of two `BonusNet`s makes that vector (Eq. 2
and 4) and the bonus of a state (Eq. 1), `action_channel` shows an action to a convolution (Eq. 3), and `Moments` and
`ReturnScale` are the running statistics of observations and of intrinsic returns. `ActionBalance` and `RND` are all of
that for loops that know nothing of JAX: NumPy in, NumPy out. `train` and `resume` train our agent, as the command line
does.
"""

from typing import TYPE_CHECKING, Any

from action_balance.core.balance import balance, normalize
from action_balance.core.distillation import Distillation
from action_balance.core.embedding import action_channel, one_hot
from action_balance.core.moments import Moments, ReturnScale
from action_balance.nets.bonus import BonusNet

if TYPE_CHECKING:
    from action_balance.interop import RND, ActionBalance
    from action_balance.training import resume, train

__version__ = "0.1.0"

__all__ = [
    "RND",
    "ActionBalance",
    "BonusNet",
    "Distillation",
    "Moments",
    "ReturnScale",
    "action_channel",
    "balance",
    "normalize",
    "one_hot",
    "resume",
    "train",
]


def __getattr__(name: str) -> Any:
    """What needs the optimiser is imported when it is asked for."""
    if name in ("ActionBalance", "RND"):
        from action_balance import interop

        return getattr(interop, name)
    if name in ("train", "resume"):
        from action_balance import training

        return getattr(training, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
