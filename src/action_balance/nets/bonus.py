"""Target and predictor networks of distillation bonuses, for vector observations.

Fully connected layers, after an optional encoder of the state. In the network of a pair, the one-hot action is an input
of every one of them (Section III-C). The first one is linear, so all actions share its product with the features.
Axes: A actions, F features, D outputs.
"""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from action_balance.nets.layers import Linear

SLOPE = 0.2


class BonusNet(eqx.Module):
    """A target or a predictor."""

    encoder: list[Linear]  # of the state alone
    joined: list[Linear]  # of features and, in the network of a pair, the action

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
        """A network of pairs has ``actions``; a network of states has none."""
        gain = 2**0.5
        encoder_key, joined_key = jax.random.split(key)
        widths = [inputs] + [hidden] * encoder_layers
        keys = jax.random.split(encoder_key, encoder_layers)
        self.encoder = [Linear(a, b, gain=gain, key=k) for a, b, k in zip(widths[:-1], widths[1:], keys, strict=True)]
        widths = widths[-1:] + [hidden] * joined_layers + [outputs]
        keys = jax.random.split(joined_key, joined_layers + 1)
        self.joined = [
            Linear(a, b, gain=gain, actions=actions, key=k)
            for a, b, k in zip(widths[:-1], widths[1:], keys, strict=True)
        ]

    def encode(self, observation: Float[Array, "..."]) -> Float[Array, " F"]:
        """Features of a state."""
        x = observation.ravel()
        for layer in self.encoder:
            x = jax.nn.leaky_relu(layer(x), SLOPE)
        return x

    def __call__(self, observation: Float[Array, "..."], action: Int[Array, ""] | None = None) -> Float[Array, " D"]:
        """Output of a state or a pair.

        Args:
            observation: A normalised observation.
            action: The action, in the network of a pair.

        Returns:
            The output.
        """
        x = self.joined[0](self.encode(observation), action)
        for layer in self.joined[1:]:
            x = layer(jax.nn.leaky_relu(x, SLOPE), action)
        return x

    def all_actions(self, observation: Float[Array, "..."]) -> Float[Array, "A D"]:
        """Outputs of all actions of a state; the encoder and the first joined layer are computed once.

        Args:
            observation: A normalised observation.

        Returns:
            One output per action.
        """
        x = self.joined[0].all_actions(self.encode(observation))
        for layer in self.joined[1:]:
            x = layer.all_actions(jax.nn.leaky_relu(x, SLOPE))
        return x
