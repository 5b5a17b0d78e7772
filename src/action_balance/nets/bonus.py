"""The networks of the distillation modules, for observations that are vectors.

Fully connected layers, after a state encoder where one is wanted. In the network of a pair, the one-hot action joins
every one of them (Section III-C). The first is linear in what joins: all actions share its product with the features.
Axes: A actions, F features, D outputs.
"""

import equinox as eqx
import jax

from action_balance.nets.layers import Linear

_SLOPE = 0.2


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
        key: jax.Array,
    ) -> None:
        """A network of a pair has ``actions``; one of a state has none."""
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

    def encode(self, observation: jax.Array) -> jax.Array:
        """Features of a state, (...) -> (F,)."""
        x = observation.ravel()
        for layer in self.encoder:
            x = jax.nn.leaky_relu(layer(x), _SLOPE)
        return x

    def __call__(self, observation: jax.Array, action: jax.Array | None = None) -> jax.Array:
        """Output of a state or a pair, (D,)."""
        x = self.joined[0](self.encode(observation), action)
        for layer in self.joined[1:]:
            x = layer(jax.nn.leaky_relu(x, _SLOPE), action)
        return x

    def all_actions(self, observation: jax.Array) -> jax.Array:
        """Outputs of all actions of a state, (A, D): encoder and first joined layer are computed once."""
        x = self.joined[0].all_actions(self.encode(observation))
        for layer in self.joined[1:]:
            x = layer.all_actions(jax.nn.leaky_relu(x, _SLOPE))
        return x
