"""What all counters of state-action pairs have in common. Axes: A choices of all action components."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from action_balance.bonuses.base import Bonus, BonusObs
from action_balance.errors import UserError


@dataclass(frozen=True)
class PairCounter(Bonus):
    """The action bonus ``r_ab(s, a) = 1 / sqrt(1 + N(s, a))`` of a counter, which a subclass implements as `counts`.

    Of an action with several components, every choice of every component is a pair of its own, and rewards of the pairs
    that were taken are summed.
    """

    def counts(self, params: Any, state: Any, obs: BonusObs) -> Float[Array, " A"]:
        """The number of visits of every pair of a state, or an estimate of it."""
        raise UserError(f"{type(self).__name__} has no counts: implement the method counts(self, params, state, obs)")

    def scores(self, params: Any, state: Any, obs: BonusObs) -> Float[Array, " A"]:
        return 1 / jnp.sqrt(1 + self.counts(params, state, obs))
