"""Exact counts, for environments whose states can be enumerated.

Axes: T steps, N environments, S states, A choices of all action components.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from action_balance.bonuses.base import Batch, Bonus, BonusObs
from action_balance.bonuses.counter import PairCounter
from action_balance.core.running_stats import RunningMeanStd
from action_balance.core.visits import add_visits
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError


def check_enumerable(spec: EnvSpec, instead: str) -> None:
    if not spec.countable:
        raise UserError(
            "the states of this environment cannot be enumerated, so there are no exact counts: use another bonus, "
            f"e.g. {instead}"
        )


@dataclass(frozen=True)
class StateCounts(Bonus):
    """The next-state bonus ``r(s') = 1 / sqrt(1 + N(s'))``, with N(s') from before the rollout.

    This is what RND estimates where states cannot be enumerated (Bellemare et al., 2016,
    https://arxiv.org/abs/1606.01868). The state is N, how often each state was reached.
    """

    rewards_states: ClassVar[bool] = True

    def check(self) -> None:
        check_enumerable(self.spec, "--intrinsic hash")

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[None, Int[Array, " S"]]:
        return None, jnp.zeros(self.spec.countable, jnp.int32)

    def reward(self, params: Any, state: Int[Array, " S"], rollout: Batch) -> tuple[Float[Array, "T N"], Any]:
        reached = rollout.transitions.next_index
        return 1 / jnp.sqrt(1.0 + state[reached]), add_visits(state, reached)


@dataclass(frozen=True)
class PairCounts(PairCounter):
    """The action bonus ``r_ab(s, a) = 1 / sqrt(1 + N(s, a))``, with N(s, a) from before the rollout.

    This is what the paper's distillation (Eq. 2) estimates where states cannot be enumerated. The state is N, how often
    each choice of each action component was taken in each state.
    """

    def check(self) -> None:
        check_enumerable(self.spec, "--action-bonus hash")

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[None, Int[Array, "S A"]]:
        return None, jnp.zeros((self.spec.countable, self.distribution.choices), jnp.int32)

    def counts(self, params: Any, state: Int[Array, "S A"], obs: BonusObs) -> Float[Array, " A"]:
        return state[obs.index].astype(jnp.float32)

    def reward(self, params: Any, state: Int[Array, "S A"], rollout: Batch) -> tuple[Float[Array, "T N"], Any]:
        """The bonus of every pair that was taken, summed over components, and the counts with this rollout."""
        left = rollout.transitions.index
        taken = rollout.each(lambda _, action, __: self.distribution.vector(action))
        bonus = (taken / jnp.sqrt(1.0 + state[left])).sum(axis=-1)
        return bonus, add_visits(state, left, taken.astype(jnp.int32))
