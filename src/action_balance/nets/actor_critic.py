"""The networks of agents for vector observations. Axes: A choices of all action components."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray, Shaped

from action_balance.nets.gru import GRU
from action_balance.nets.layers import Linear, make_layers, normalizing
from action_balance.nets.policy import (
    Heads,
    PolicyNet,
    ResidualPolicy,
    make_heads,
    make_memory,
    make_policy_head,
)

Activation = Callable[[Array], Array]

#: Nonlinearities by name.
ACTIVATIONS: dict[str, Activation] = {"relu": jax.nn.relu, "tanh": jax.numpy.tanh}


def _hidden_outputs(layers: list[Linear], observation: Shaped[Array, "..."], nonlinear: Activation) -> Array:
    """What the last of some layers finds in an observation of any shape.

    One-hot observations are Booleans. Their products with the weights of the first layer, by far the largest, use the
    default precision of the device: the inputs are exact, so that it rounds the weights alone, which is the same
    rounding when acting and when learning.
    """
    x = observation.ravel()
    if x.dtype == bool and layers:
        with jax.default_matmul_precision("default"):
            x = nonlinear(layers[0](x.astype(jnp.float32)))
        layers = layers[1:]
    for layer in layers:
        x = nonlinear(layer(x))
    return x


class ActorCritic(ResidualPolicy):
    """A shared trunk, then one residual layer each for actor and critic, as in the networks for images.

    Gains of the orthogonal initialisation: sqrt(2) in the trunk, 0.1 in the residual layers, 0.01 in the heads.
    """

    trunk: list[Linear]
    actor: Linear
    critic: Linear
    policy_head: Linear
    value_head: Linear
    memory: GRU | None
    activation: str = eqx.field(static=True)
    norm: bool = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        hidden: int,
        layers: int,
        heads: Heads,
        *,
        activation: str = "relu",
        key: PRNGKeyArray,
    ) -> None:
        trunk_key, *head_keys = jax.random.split(key, 5)
        widths = [inputs] + [hidden] * layers
        self.trunk = make_layers(widths, trunk_key)
        self.activation, self.norm = activation, heads.norm
        self.memory, width = make_memory(heads.memory, widths[-1], 1, key)
        self.actor, self.critic, self.policy_head, self.value_head = make_heads(width, heads, head_keys)

    def nonlinear(self, x: Array) -> Array:
        return normalizing(ACTIVATIONS[self.activation], self.norm)(x)

    def trunk_outputs(self, observation: Shaped[Array, "..."]) -> tuple[Array, ...]:
        return (_hidden_outputs(self.trunk, observation, self.nonlinear),)


class SeparateActorCritic(PolicyNet):
    """A trunk for the policy and another for both values: the gradient of one does not disturb the other.

    A memory has a cell for each of them, for the same reason.
    Gains of the orthogonal initialisation: sqrt(2) in the trunks, 0.01 in the policy's head, 1 in that of the values.
    """

    policy_trunk: list[Linear]
    value_trunk: list[Linear]
    policy_head: Linear
    value_head: Linear
    memory: GRU | None
    activation: str = eqx.field(static=True)
    norm: bool = eqx.field(static=True)

    def __init__(
        self,
        inputs: int,
        hidden: int,
        layers: int,
        heads: Heads,
        *,
        activation: str = "relu",
        key: PRNGKeyArray,
    ) -> None:
        trunk_key, other_key, policy_key, value_key = jax.random.split(key, 4)
        widths = [inputs] + [hidden] * layers
        self.policy_trunk = make_layers(widths, trunk_key)
        self.value_trunk = make_layers(widths, other_key)
        self.memory, width = make_memory(heads.memory, widths[-1], 2, key)
        self.policy_head = make_policy_head(width, heads, policy_key)
        gain = 1.0 if heads.value_gain is None else heads.value_gain
        self.value_head = Linear(width, heads.values, gain=gain, key=value_key)
        self.activation, self.norm = activation, heads.norm

    def trunk_outputs(self, observation: Shaped[Array, "..."]) -> tuple[Array, ...]:
        nonlinear = normalizing(ACTIVATIONS[self.activation], self.norm)
        policy = _hidden_outputs(self.policy_trunk, observation, nonlinear)
        return policy, _hidden_outputs(self.value_trunk, observation, nonlinear)

    def head_outputs(self, parts: tuple[Array, ...]) -> tuple[Array, Array]:
        policy, value = parts
        return self.policy_head(policy), self.value_head(value)
