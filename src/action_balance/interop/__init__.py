"""The method for training loops without JAX: NumPy arrays or PyTorch tensors in and out.

`ActionBalance` balances the logits of any policy (Eq. 5), and `IntrinsicBonus` rewards states rarely reached: by RND
(Eq. 1), for which `RND` is a short name, or by any other bonus. Both are used the same way: `create` one for the spaces
of the environment, query it while acting, and let it `learn` from the steps taken. `Reached` provides the observation
that each step reached, whatever a vector environment does at the end of an episode.
"""

from action_balance.interop.autoreset import Reached
from action_balance.interop.bonuses import RND, ActionBalance, IntrinsicBonus
from action_balance.interop.tensors import candidate_log_weight

__all__ = ["RND", "ActionBalance", "IntrinsicBonus", "Reached", "candidate_log_weight"]
