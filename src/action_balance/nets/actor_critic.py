"""The policy and its two value functions, for vector observations. Axes: A choices of all action components."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.nets.layers import Linear


class ActorCritic(eqx.Module):
    """A shared trunk, then one residual layer each for actor and critic, as in the networks for images.

    Gains of the orthogonal initialisation: sqrt(2) in the trunk, 0.1 in the residual layers, 0.01 in the heads.
    """

    trunk: list[Linear]
    actor: Linear
    critic: Linear
    policy_head: Linear  # (A,)
    value_head: Linear  # (2,): intrinsic, extrinsic

    def __init__(self, inputs: int, hidden: int, layers: int, actions: int, *, key: PRNGKeyArray) -> None:
        trunk_key, actor_key, critic_key, policy_key, value_key = jax.random.split(key, 5)
        widths = [inputs] + [hidden] * layers
        keys = jax.random.split(trunk_key, layers)
        self.trunk = [Linear(a, b, gain=2**0.5, key=k) for a, b, k in zip(widths[:-1], widths[1:], keys, strict=True)]
        width = widths[-1]
        self.actor = Linear(width, width, gain=0.1, key=actor_key)
        self.critic = Linear(width, width, gain=0.1, key=critic_key)
        self.policy_head = Linear(width, actions, gain=0.01, key=policy_key)
        self.value_head = Linear(width, 2, gain=0.01, key=value_key)

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
            return self._forward(observation)

    def _forward(self, observation: Array) -> tuple[Array, Array]:
        x = observation.ravel()
        for layer in self.trunk:
            x = jax.nn.relu(layer(x))
        actor = x + jax.nn.relu(self.actor(x))
        critic = x + jax.nn.relu(self.critic(x))
        return self.policy_head(actor), self.value_head(critic)
