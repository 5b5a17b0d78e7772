"""Upper confidence bounds of all actions (Auer et al., 2002, https://doi.org/10.1023/A:1013689704352), from counts.

Axes: T steps, N environments, P samples of a minibatch, A choices of all action components.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.bonuses.base import ACTION, Batch, Bonus, BonusObs, make_bonus
from action_balance.bonuses.counter import PairCounter
from action_balance.config.bonuses import UCBConfig
from action_balance.core.running_stats import RunningMeanStd


@dataclass(frozen=True)
class UCB(Bonus):
    """The action bonus of UCB1, ``r_ab(s, a) = sqrt(2 ln(1 + N(s)) / (1 + N(s, a)))``, N(s) = sum_a N(s, a).

    UCB1 tries every action once before it uses its bound, which is infinite for an untried action; the added ones keep
    the bonus finite. In a state that was never visited it is zero for all actions. N comes from another action bonus,
    the counter, whose parameters and state these are. An action with several components has one N(s) per component.
    """

    Config: ClassVar[type] = UCBConfig

    @cached_property
    def counter(self) -> PairCounter:
        return cast(PairCounter, make_bonus(self.config.counter, ACTION, self.agent, self.spec))

    @property
    def uses_obs_stats(self) -> bool:
        return self.counter.uses_obs_stats

    def check(self) -> None:
        """The counter must fit the environment, which is checked when it is made."""
        _ = self.counter

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[Any, Any]:
        return self.counter.init(key, stats)

    def acting_state(self, state: Any) -> Any:
        return self.counter.acting_state(state)

    def new_episodes(self, state: Any) -> Any:
        return self.counter.new_episodes(state)

    def scores(self, params: Any, state: Any, obs: BonusObs) -> Float[Array, " A"]:

        def bounds(counts: Array) -> Array:
            return jnp.sqrt(2 * jnp.log1p(counts.sum()) / (1 + counts))

        return self.distribution.discrete.per_component(bounds, self.counter.counts(params, state, obs))

    def reward(self, params: Any, state: Any, rollout: Batch) -> tuple[Float[Array, "T N"], Any]:
        """As the counter: its bonus of the pairs that were taken, and its state with this rollout."""
        return self.counter.reward(params, state, rollout)

    def loss(self, params: Any, state: Any, batch: Batch) -> Float[Array, " P"]:
        return self.counter.loss(params, state, batch)

    def metrics(self, params: Any, state: Any) -> dict[str, Float[Array, ""]]:
        return self.counter.metrics(params, state)
