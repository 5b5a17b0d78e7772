"""Intrinsic curiosity (ICM, Pathak et al., 2017, https://arxiv.org/abs/1705.05363) rewards what is hard to predict.

Axes: T steps, N environments, P samples of a minibatch, b either of these.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.bonuses.base import Batch, Bonus
from action_balance.bonuses.distillation import squared_error
from action_balance.bonuses.inverse_dynamics import Encoded, InverseDynamics, hidden_width
from action_balance.config.bonuses import ICMConfig
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd
from action_balance.nets.bonus import BonusNet


class Curiosity(eqx.Module):
    """What ICM trains: the features with their inverse model, and the forward model."""

    dynamics: InverseDynamics
    forward: BonusNet  # phi(s') from phi(s) and the action as a vector

    def forward_errors(self, encoded: Encoded) -> Float[Array, "*b"]:
        """``1/2 ||f(phi(s), a) - phi(s')||^2 / D``, from which no gradient reaches the features."""

        def one(before: Array, action: Array, after: Array) -> Array:
            taken = self.dynamics.distribution.vector(action)
            predicted = self.forward(jnp.concatenate([jax.lax.stop_gradient(before), taken]))
            return 0.5 * squared_error(predicted, jax.lax.stop_gradient(after))

        errors: Array = encoded.each(one)
        return errors


@dataclass(frozen=True)
class ICM(Bonus):
    """The next-state bonus ``r(s, a, s') = 1/2 ||f(phi(s), a) - phi(s')||^2 / D``, with inverse dynamics features phi.

    Pathak et al. train the features by the forward loss, too, with a small weight. Here, as with the inverse dynamics
    features of Burda et al. (2019, https://arxiv.org/abs/1808.04355), only the inverse loss does: otherwise features
    that are easy to predict, such as constants, reduce the loss and with it the bonus.

    The state is the accuracy of the inverse model in the newest rollout, for the metrics.
    """

    Config: ClassVar[type] = ICMConfig
    uses_obs_stats: ClassVar[bool] = True

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[Curiosity, Float[Array, ""]]:
        features, size = self.config.features, self.distribution.size
        dynamics = InverseDynamics(self.spec, self.agent, features, named_key(key, "dynamics"))
        hidden = hidden_width(self.spec, self.agent)
        forward = BonusNet(features + size, hidden, features, key=named_key(key, "forward"))
        return Curiosity(dynamics, forward), jnp.zeros(())

    def reward(self, params: Curiosity, state: Any, rollout: Batch) -> tuple[Float[Array, "T N"], Float[Array, ""]]:
        encoded = params.dynamics.encode(rollout)
        return params.forward_errors(encoded), params.dynamics.accuracy(encoded)

    def loss(self, params: Curiosity, state: Any, batch: Batch) -> Float[Array, " P"]:
        """The inverse loss, which trains the features, plus the forward error, which trains the forward model."""
        encoded = params.dynamics.encode(batch)
        return params.dynamics.losses(encoded) + params.forward_errors(encoded)

    def metrics(self, params: Any, state: Float[Array, ""]) -> dict[str, Float[Array, ""]]:
        return {"inverse_accuracy": state}
