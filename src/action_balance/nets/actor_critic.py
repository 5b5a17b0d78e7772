"""The policy and its two value functions, for vector observations. Axes: A choices of all action components."""

from abc import abstractmethod
from collections.abc import Callable

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.nets.layers import Linear

Activation = Callable[[Array], Array]

#: Nonlinearities by name.
ACTIVATIONS: dict[str, Activation] = {"relu": jax.nn.relu, "tanh": jax.numpy.tanh}


def _hidden_layers(inputs: int, hidden: int, layers: int, key: PRNGKeyArray) -> list[Linear]:
    """Layers with orthogonal weights and gain sqrt(2)."""
    widths = [inputs] + [hidden] * layers
    keys = jax.random.split(key, layers)
    return [Linear(a, b, gain=2**0.5, key=k) for a, b, k in zip(widths[:-1], widths[1:], keys, strict=True)]


class _VectorPolicy(eqx.Module):
    """What the policies for vectors have in common."""

    activation: str = eqx.field(static=True)

    def __call__(self, observation: Float[Array, "..."]) -> tuple[Float[Array, " A"], Float[Array, " 2"]]:
        """Logits of pi, and the intrinsic and extrinsic values.

        Products use full float32, also on devices that default to less: the first ratio of an update is 1 only if the
        policy computes the same numbers when it acts and when it learns.

        Args:
            observation: One observation of any shape.

        Returns:
            Logits, and both values.
        """
        with jax.default_matmul_precision("highest"):
            return self._forward(observation.ravel(), ACTIVATIONS[self.activation])

    @abstractmethod
    def _forward(self, x: Array, nonlinear: Activation) -> tuple[Array, Array]:
        """Logits and values of a vector."""


class ActorCritic(_VectorPolicy):
    """A shared trunk, then one residual layer each for actor and critic, as in the networks for images.

    Gains of the orthogonal initialisation: sqrt(2) in the trunk, 0.1 in the residual layers, 0.01 in the heads.
    """

    trunk: list[Linear]
    actor: Linear
    critic: Linear
    policy_head: Linear  # (A,)
    value_head: Linear  # (2,): intrinsic, extrinsic

    def __init__(
        self, inputs: int, hidden: int, layers: int, actions: int, *, activation: str = "relu", key: PRNGKeyArray
    ) -> None:
        trunk_key, actor_key, critic_key, policy_key, value_key = jax.random.split(key, 5)
        self.trunk = _hidden_layers(inputs, hidden, layers, trunk_key)
        self.activation = activation
        width = hidden if layers else inputs
        self.actor = Linear(width, width, gain=0.1, key=actor_key)
        self.critic = Linear(width, width, gain=0.1, key=critic_key)
        self.policy_head = Linear(width, actions, gain=0.01, key=policy_key)
        self.value_head = Linear(width, 2, gain=0.01, key=value_key)

    def _forward(self, x: Array, nonlinear: Activation) -> tuple[Array, Array]:
        for layer in self.trunk:
            x = nonlinear(layer(x))
        actor = x + nonlinear(self.actor(x))
        critic = x + nonlinear(self.critic(x))
        return self.policy_head(actor), self.value_head(critic)


class SeparateActorCritic(_VectorPolicy):
    """A trunk for the policy and another for both values: the gradient of one does not disturb the other.

    Gains of the orthogonal initialisation: sqrt(2) in the trunks, 0.01 in the policy's head, 1 in that of the values.
    """

    policy_trunk: list[Linear]
    value_trunk: list[Linear]
    policy_head: Linear  # (A,)
    value_head: Linear  # (2,): intrinsic, extrinsic

    def __init__(
        self, inputs: int, hidden: int, layers: int, actions: int, *, activation: str = "relu", key: PRNGKeyArray
    ) -> None:
        trunk_key, other_key, policy_key, value_key = jax.random.split(key, 4)
        self.policy_trunk = _hidden_layers(inputs, hidden, layers, trunk_key)
        self.value_trunk = _hidden_layers(inputs, hidden, layers, other_key)
        width = hidden if layers else inputs
        self.policy_head = Linear(width, actions, gain=0.01, key=policy_key)
        self.value_head = Linear(width, 2, gain=1.0, key=value_key)
        self.activation = activation

    def _forward(self, x: Array, nonlinear: Activation) -> tuple[Array, Array]:
        policy = value = x
        for layer in self.policy_trunk:
            policy = nonlinear(layer(policy))
        for layer in self.value_trunk:
            value = nonlinear(layer(value))
        return self.policy_head(policy), self.value_head(value)
