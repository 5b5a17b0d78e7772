"""Features that are learned by inverse dynamics: what the agent can influence, and not what merely changes around it.

An encoder phi and an inverse model p(a | phi(s), phi(s')) learn together which action led from s to s' (Pathak et al.,
2017, https://arxiv.org/abs/1705.05363). What does not depend on actions does not help to predict them, and phi can
ignore it. `ICM`, `NGU` and `E3B` use these features.

The last transition of an episode is learned from like any other: s' is then the observation that ended it, and not the
first one of the next episode.

Axes: b those of a rollout or of a minibatch, D features, A choices of all action components.
"""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, Real

from action_balance.bonuses.base import Batch
from action_balance.bonuses.networks import bonus_network
from action_balance.config.agent import AgentConfig
from action_balance.core.keys import named_key
from action_balance.distributions import Distribution
from action_balance.envs.actions import distribution_of
from action_balance.envs.spec import EnvSpec
from action_balance.nets.bonus import BonusNet, JoinedNet


def hidden_width(spec: EnvSpec, agent: AgentConfig) -> int:
    """Width of the hidden layers that follow the features."""
    return agent.network.bonus_features if spec.is_image or spec.is_mixed else agent.network.bonus_hidden


class Encoded(eqx.Module):
    """Transitions as features: (phi(s), a, phi(s'))."""

    before: Float[Array, "*b D"]
    action: Real[Array, "..."]
    after: Float[Array, "*b D"]

    def each(self, function: Callable[[Array, Array, Array], Any]) -> Any:
        for _ in range(self.before.ndim - 1):
            function = jax.vmap(function)
        return function(self.before, self.action, self.after)


class InverseDynamics(eqx.Module):
    """An encoder and an inverse model, both trained by the inverse loss."""

    encoder: JoinedNet  # with the layers of RND's target
    inverse: BonusNet  # predicts the action from the features of s and s'
    distribution: Distribution = eqx.field(static=True)

    def __init__(self, spec: EnvSpec, agent: AgentConfig, features: int, key: PRNGKeyArray) -> None:
        self.distribution = distribution_of(spec, agent)
        encoder_key = named_key(key, "encoder")
        self.encoder = bonus_network(spec, agent, predictor=False, outputs=features, key=encoder_key)
        hidden, size = hidden_width(spec, agent), self.distribution.size
        self.inverse = BonusNet(2 * features, hidden, size, key=named_key(key, "inverse"))

    def encode(self, batch: Batch) -> Encoded:
        before, after = batch.each(
            lambda obs, _, next_obs: (self.encoder(obs.normalized), self.encoder(next_obs.normalized))
        )
        return Encoded(before, batch.transitions.action, after)

    def losses(self, encoded: Encoded) -> Float[Array, "*b"]:
        """``-log p(a | phi(s), phi(s'))``, the cross-entropy summed over the action components; of continuous numbers,
        half the squared error."""
        return self._each(encoded, self.distribution.prediction_loss)

    def accuracy(self, encoded: Encoded) -> Float[Array, ""]:
        """Proportion of the action components that the inverse model predicts."""
        return self._each(encoded, self.distribution.predicts).mean()

    def _each(self, encoded: Encoded, compare: Callable[[Array, Array], Array]) -> Array:
        """A function of what the inverse model says and of the action, for every transition."""

        def one(before: Array, action: Array, after: Array) -> Array:
            return compare(self.inverse(jnp.concatenate([before, after])), action)

        found: Array = encoded.each(one)
        return found
