"""Features that are learned by inverse dynamics: what the agent can influence, and not what merely changes around it.

An encoder phi and an inverse model p(a | phi(s), phi(s')) learn together which action led from s to s' (Pathak et al.,
2017, https://arxiv.org/abs/1705.05363). What does not depend on actions does not help to predict them, and phi can
ignore it. `ICM`, `NGU` and `E3B` use these features.

The last transition of an episode is learned from like any other: s' is then the observation that ended it, and not the
first one of the next episode.

Axes: T steps, N environments, P samples of a minibatch, D features, A choices of all action components.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from action_balance.bonuses.base import Batch
from action_balance.config.agent import AgentConfig
from action_balance.core.keys import named_key
from action_balance.distributions import MultiCategorical
from action_balance.envs.spec import EnvSpec
from action_balance.nets.bonus import BonusNet
from action_balance.nets.image import ImageBonusNet


def hidden_width(spec: EnvSpec, agent: AgentConfig) -> int:
    """Width of the hidden layers that follow the features.

    Args:
        spec: Observations and actions of the environment.
        agent: Settings of the agent.

    Returns:
        The width of the bonus networks for these observations.
    """
    return agent.image.bonus_features if spec.is_image else agent.net.bonus_hidden


def make_encoder(spec: EnvSpec, agent: AgentConfig, features: int, key: PRNGKeyArray) -> BonusNet | ImageBonusNet:
    """An encoder with the layers of RND's target network.

    Args:
        spec: Observations and actions of the environment.
        agent: Settings of the agent.
        features: D.
        key: Random key of its weights.

    Returns:
        A network from normalised frames to features.
    """
    if spec.is_image:
        sizes = agent.image
        return ImageBonusNet(spec.frame_shape, sizes.channels, features, dtype=sizes.precision, key=key)
    return BonusNet(math.prod(spec.frame_shape), agent.net.bonus_hidden, features, key=key)


class InverseDynamics(eqx.Module):
    """An encoder and an inverse model, both trained by the inverse loss."""

    encoder: BonusNet | ImageBonusNet
    inverse: BonusNet  # logits of all action components from the features of s and s'
    distribution: MultiCategorical = eqx.field(static=True)

    def __init__(self, spec: EnvSpec, agent: AgentConfig, features: int, key: PRNGKeyArray) -> None:
        self.distribution = MultiCategorical(spec.nvec)
        self.encoder = make_encoder(spec, agent, features, named_key(key, "encoder"))
        hidden, choices = hidden_width(spec, agent), self.distribution.choices
        self.inverse = BonusNet(2 * features, hidden, choices, key=named_key(key, "inverse"))

    def features(self, batch: Batch) -> tuple[Float[Array, "*b D"], Float[Array, "*b D"]]:
        """Features of both states of every transition.

        Args:
            batch: The transitions.

        Returns:
            phi(s) and phi(s').
        """
        found: tuple[Array, Array] = batch.each(
            lambda obs, _, next_obs: (self.encoder(obs.normalized), self.encoder(next_obs.normalized))
        )
        return found

    def loss(
        self, features: Float[Array, " D"], next_features: Float[Array, " D"], action: Int[Array, "..."]
    ) -> Float[Array, ""]:
        """``-log p(a | phi(s), phi(s'))``, the cross-entropy summed over the action components.

        Args:
            features: phi(s).
            next_features: phi(s').
            action: The action that was taken.

        Returns:
            The loss; ln A of a uniform prediction of one component.
        """
        return -self.distribution.log_prob(self._logits(features, next_features), action)

    def losses(
        self, features: Float[Array, "P D"], next_features: Float[Array, "P D"], batch: Batch
    ) -> Float[Array, " P"]:
        """The inverse loss of every transition of a minibatch.

        Args:
            features: phi(s).
            next_features: phi(s').
            batch: The minibatch.

        Returns:
            One loss per transition.
        """
        return jax.vmap(self.loss)(features, next_features, batch.transitions.action)

    def accuracy(
        self, features: Float[Array, "T N D"], next_features: Float[Array, "T N D"], rollout: Batch
    ) -> Float[Array, ""]:
        """Proportion of the action components of a rollout that the inverse model predicts.

        Args:
            features: phi(s).
            next_features: phi(s').
            rollout: The transitions.

        Returns:
            A number between 0 and 1.
        """

        def predicted(before: Array, after: Array) -> Array:
            return self.distribution.mode(self._logits(before, after))

        found = jax.vmap(jax.vmap(predicted))(features, next_features)
        return (found == rollout.transitions.action).mean()

    def _logits(self, features: Array, next_features: Array) -> Array:
        return self.inverse(jnp.concatenate([features, next_features]))
