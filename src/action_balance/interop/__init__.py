"""The method for loops that know nothing of JAX: arrays of NumPy or tensors of PyTorch in and out.

`ActionBalance` balances the logits of any policy (Eq. 5), `RND` rewards states rarely reached (Eq. 1). Both are used
the same way: `create` one for the spaces of the environment, ask it while acting, let it `learn` from what was done.
`Reached` has the observations that steps have reached, whatever a vector environment does where an episode ends.
"""

from action_balance.interop.autoreset import Reached
from action_balance.interop.bonuses import RND, ActionBalance

__all__ = ["RND", "ActionBalance", "Reached"]
