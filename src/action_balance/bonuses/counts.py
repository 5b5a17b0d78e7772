"""Exact counts, for environments whose states can be enumerated.

Axes: T steps, N environments, S states.
"""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from action_balance.bonuses.base import Batch, Bonus
from action_balance.core.running_stats import RunningMeanStd
from action_balance.errors import UserError


@dataclass(frozen=True)
class StateCounts(Bonus):
    """The next-state bonus ``r(s') = 1 / sqrt(1 + N(s'))``, with N(s') from before the rollout.

    This is what RND estimates where states cannot be enumerated (Bellemare et al., 2016,
    https://arxiv.org/abs/1606.01868). The state is N, how often each state was reached.
    """

    def check(self) -> None:
        """States must be enumerable."""
        if not self.spec.states:
            raise UserError(
                "the states of this environment cannot be enumerated, so exact counts do not work: use another "
                "bonus, e.g. --method rnd"
            )

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[None, Int[Array, " S"]]:
        """No visits."""
        del key, stats
        return None, jnp.zeros(self.spec.states, jnp.int32)

    def reward(self, params: Any, state: Int[Array, " S"], rollout: Batch) -> tuple[Float[Array, "T N"], Any]:
        """The bonus of every state that was reached, and the counts with this rollout."""
        del params
        reached = rollout.transitions.next_index
        return 1 / jnp.sqrt(1.0 + state[reached]), state.at[reached].add(1)
