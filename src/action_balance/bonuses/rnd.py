"""Random network distillation (Burda et al., 2019, https://arxiv.org/abs/1810.12894) rewards rarely reached states.

Axes: T steps, N environments, P samples of a minibatch.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.bonuses.base import Batch, Bonus
from action_balance.bonuses.distillation import Distillation
from action_balance.bonuses.networks import bonus_network
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd


@dataclass(frozen=True)
class RND(Bonus):
    """The next-state bonus ``r(s') = ||f_hat(s') - f(s')||^2`` (Eq. 1).

    The parameters are those of the predictor f_hat; the state is the fixed random target f.
    """

    uses_obs_stats: ClassVar[bool] = True
    rewards_states: ClassVar[bool] = True

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[Any, Any]:
        return (
            bonus_network(self.spec, self.agent, predictor=True, key=named_key(key, "predictor")),
            bonus_network(self.spec, self.agent, predictor=False, key=named_key(key, "target")),
        )

    def reward(self, params: Any, state: Any, rollout: Batch) -> tuple[Float[Array, "T N"], Any]:
        return self._errors(params, state, rollout), state

    def loss(self, params: Any, state: Any, batch: Batch) -> Float[Array, " P"]:
        return self._errors(params, state, batch)

    @staticmethod
    def _errors(params: Any, state: Any, batch: Batch) -> Array:
        module = Distillation(state, params)
        errors: Array = batch.each(lambda _, __, next_obs: module.error(next_obs.normalized))
        return errors
