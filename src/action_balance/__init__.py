"""Action balance exploration for reinforcement learning: the pieces that other agents can take.

`balance` adds a bonus vector to a policy's logits (Eq. 5), `Distillation` of two `BonusNet`s makes that vector (Eq. 2
and 4) and the bonus of a state (Eq. 1), `action_channel` shows an action to a convolution (Eq. 3), and `Moments` and
`ReturnScale` are the running statistics of observations and of intrinsic returns.
"""

from action_balance.core.balance import balance, normalize
from action_balance.core.distillation import Distillation
from action_balance.core.embedding import action_channel, one_hot
from action_balance.core.moments import Moments, ReturnScale
from action_balance.nets.bonus import BonusNet

__version__ = "0.1.0"

__all__ = [
    "BonusNet",
    "Distillation",
    "Moments",
    "ReturnScale",
    "action_channel",
    "balance",
    "normalize",
    "one_hot",
]
