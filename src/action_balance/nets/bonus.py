"""Target and predictor networks of distillation bonuses. Axes: A actions, F features, D outputs."""

from abc import abstractmethod

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray, Real

from action_balance.nets.layers import Linear, make_layers

#: An action: its index, or a vector.
Action = Real[Array, "..."]
#: Of the ReLU below 0.
SLOPE = 0.2


class JoinedNet(eqx.Module):
    """A network of a state, or of a pair: features of the state, then fully connected layers.

    In the network of a pair, the action as a vector is an input of every fully connected layer (Section III-C). The
    first one is linear, so all actions share its product with the features.
    """

    joined: eqx.AbstractVar[list[Linear]]

    @abstractmethod
    def features(self, observation: Float[Array, "..."]) -> Float[Array, " F"]:
        """Features of a state."""

    def features_of_pair(self, observation: Float[Array, "..."], action: Action | None) -> Float[Array, " F"]:
        """Features of a state, to which an action may contribute."""
        del action
        return self.features(observation)

    def features_of_all(self, observation: Float[Array, "..."]) -> Float[Array, " F"] | Float[Array, "A F"]:
        """Those of all actions: shared, or one vector for each."""
        return self.features(observation)

    def nonlinear(self, x: Array) -> Array:
        """Between the fully connected layers."""
        return jax.nn.relu(x)

    def __call__(self, observation: Float[Array, "..."], action: Action | None = None) -> Float[Array, " D"]:
        """Output of a state or a pair.

        Args:
            observation: A normalised observation.
            action: The action, its index or as a vector, in the network of a pair.

        Returns:
            The output.
        """
        x = self.joined[0](self.features_of_pair(observation, action), action)
        for layer in self.joined[1:]:
            x = layer(self.nonlinear(x), action)
        return x

    def all_actions(self, observation: Float[Array, "..."]) -> Float[Array, "A D"]:
        """Outputs of all actions of a state; what they share is computed once.

        Args:
            observation: A normalised observation.

        Returns:
            One output per action.
        """
        x = self.joined[0].all_actions(self.features_of_all(observation))
        for layer in self.joined[1:]:
            x = layer.all_actions(self.nonlinear(x))
        return x


class BonusNet(JoinedNet):
    """A target or a predictor for vectors, with leaky ReLUs. A network of pairs has ``actions``."""

    encoder: list[Linear]  # of the state alone; often empty
    joined: list[Linear]

    def __init__(
        self,
        inputs: int,
        hidden: int,
        outputs: int,
        *,
        actions: int = 0,
        encoder_layers: int = 0,
        joined_layers: int = 1,
        key: PRNGKeyArray,
    ) -> None:
        encoder_key, joined_key = jax.random.split(key)
        widths = [inputs] + [hidden] * encoder_layers
        self.encoder = make_layers(widths, encoder_key)
        self.joined = make_layers([widths[-1]] + [hidden] * joined_layers + [outputs], joined_key, actions)

    def nonlinear(self, x: Array) -> Array:
        return jax.nn.leaky_relu(x, SLOPE)

    def features(self, observation: Float[Array, "..."]) -> Float[Array, " F"]:
        x = observation.ravel()
        for layer in self.encoder:
            x = self.nonlinear(layer(x))
        return x
