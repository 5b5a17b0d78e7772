"""The policy with its two values, for observations that are vectors. Axes: A actions."""

import equinox as eqx
import jax

from action_balance.nets.layers import Linear


class ActorCritic(eqx.Module):
    """A shared trunk, then a residual layer each for actor and critic, as in the networks for images.

    Gains: sqrt(2) in the trunk, 0.1 in the residual layers, 0.01 in the heads.
    """

    trunk: list[Linear]
    actor: Linear
    critic: Linear
    policy_head: Linear  # (A,)
    value_head: Linear  # (2,): intrinsic, extrinsic
    parts: tuple[int, ...] | None = eqx.field(static=True)  # choices of each component of an action, where it has some
    normalizes_obs: bool = eqx.field(static=True)  # whether whoever calls it whitens what it sees

    def __init__(
        self,
        inputs: int,
        hidden: int,
        layers: int,
        actions: int,
        *,
        parts: tuple[int, ...] | None = None,
        normalizes_obs: bool = False,
        key: jax.Array,
    ) -> None:
        trunk_key, actor_key, critic_key, policy_key, value_key = jax.random.split(key, 5)
        widths = [inputs] + [hidden] * layers
        keys = jax.random.split(trunk_key, layers)
        self.trunk = [Linear(a, b, gain=2**0.5, key=k) for a, b, k in zip(widths[:-1], widths[1:], keys, strict=True)]
        width = widths[-1]
        self.actor = Linear(width, width, gain=0.1, key=actor_key)
        self.critic = Linear(width, width, gain=0.1, key=critic_key)
        self.policy_head = Linear(width, actions, gain=0.01, key=policy_key)
        self.value_head = Linear(width, 2, gain=0.01, key=value_key)
        self.parts, self.normalizes_obs = parts, normalizes_obs

    def __call__(self, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Logits of pi, (A,), and the intrinsic and the extrinsic value, (2,).

        In full float32, also where the device would rather multiply with less: the first ratio of an update is 1 only
        if the policy gives the same numbers when it acts and when it learns.
        """
        with jax.default_matmul_precision("highest"):
            return self._forward(observation)

    def _forward(self, observation: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = observation.ravel()
        for layer in self.trunk:
            x = jax.nn.relu(layer(x))
        actor = x + jax.nn.relu(self.actor(x))
        critic = x + jax.nn.relu(self.critic(x))
        return self.policy_head(actor), self.value_head(critic)
