"""PQN: Q-learning on rollouts, whose Q-values are shifted by the action bonus (Eq. 5)."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array

from action_balance.algorithms.base import Algorithm, Experience, Mean, Metrics, Targets, each
from action_balance.algorithms.pqn.config import PQNConfig
from action_balance.algorithms.state import Samples, Trajectory, UpdateInfo
from action_balance.config.algorithm import AlgorithmConfig
from action_balance.core.balance import FORBIDDEN, mask_logits
from action_balance.core.losses import squared_error
from action_balance.nets.policy import Heads


class PQN(Algorithm):
    """Parallelised Q-network (Gallici et al., 2024, https://arxiv.org/abs/2407.04811): Q(lambda) without a replay
    buffer and without target networks, which layer normalisation makes stable.

    The network's heads are the Q-values of the extrinsic and of the intrinsic stream. Both are of the policy that is
    greedy in their weighted sum Q. It acts by ``Q + c Normalize(r_ab)``: with the bonus ``sqrt(2 ln t / N(s, a))``,
    that is UCB. An action of several components has Q-values for each, and the value of a state is their mean.
    """

    Config: ClassVar[type[AlgorithmConfig]] = PQNConfig
    terms: ClassVar[tuple[str, ...]] = ("value_int", "value_ext")
    distance_name: ClassVar[str] = "tv_beta_pi"
    needs_lists: ClassVar[bool] = True

    @property
    def heads(self) -> Heads:
        # The second head begins at zero, and stays so where there is no intrinsic reward.
        return super().heads._replace(values=self.distribution.choices, value_gain=0.0, norm=True)

    def evaluate(self, first: Array, second: Array, mask: Array | None) -> tuple[Array, Array]:
        """Q-values, and the values of both streams under the action that is greedy in Q."""
        q = mask_logits(self.settings.extrinsic_coef * first + self.settings.intrinsic_coef * second, mask)
        best = self.distribution.discrete.mode(q)
        return q, jnp.stack([self.distribution.discrete.chosen(one, best).mean() for one in (second, first)])

    def policy(self, preferences: Array, mask: Array | None) -> Array:
        """Logits of a softmax over Q-values, or of the greedy policy, which draws one of equally good actions."""
        if self.settings.temperature:
            return mask_logits(preferences / self.settings.temperature, mask)

        def greedy(q: Array) -> Array:
            return jnp.where(q < q.max(), FORBIDDEN, 0.0)

        return self.distribution.discrete.per_component(greedy, preferences)

    def targets(self, experience: Experience) -> Targets:
        """Lambda-returns ``G_t = r_t + gamma ((1 - lambda) V(s_{t+1}) + lambda G_{t+1})``."""
        returns = experience.trajectory.values + self.advantages(experience, self.settings.q_lambda)
        return Targets(returns, {"returns": returns})

    def loss(self, first: Array, second: Array, samples: Samples, coef: Array, mean: Mean) -> tuple[Array, Metrics]:
        def of_sample(sample: Samples, extrinsic: Array, intrinsic: Array) -> Array:
            taken = jnp.stack([self.distribution.discrete.chosen(one, sample.action) for one in (intrinsic, extrinsic)])
            returns = jnp.broadcast_to(sample.targets[:, None], taken.shape)
            return squared_error(taken, returns).mean(axis=-1)

        errors = jax.vmap(of_sample)(samples, first, second)
        terms = {"value_int": mean(errors[:, 0]), "value_ext": mean(errors[:, 1])}
        learns_int = float(self.config.intrinsic_coef > 0)
        return terms["value_ext"] + learns_int * terms["value_int"], terms

    def metrics(self, trajectory: Trajectory, info: UpdateInfo) -> Metrics:
        returns = info.noted["returns"]
        found = super().metrics(trajectory, info)
        return {**found, "q_mean": trajectory.values[..., 1].mean(), "return_std": returns[..., 1].std()}

    def distance(self, trajectory: Trajectory, beta: Array, coef: Array) -> Metrics:
        """The total variation of what the shift changes, without random actions: of greedy policies, the share of the
        steps at which another action is chosen. Their Kullback-Leibler divergence is infinite."""

        def one(preferences: Array, bonus: Array, mask: Array | None) -> Array:
            parts = (self.shift(preferences, bonus, coef, mask), preferences)
            shifted, pi = (
                self.distribution.discrete.per_component(jax.nn.softmax, self.policy(part, mask)) for part in parts
            )
            return jnp.abs(shifted - pi).sum() / (2 * len(self.spec.nvec))

        return {self.distance_name: each(one)(trajectory.preferences, trajectory.action_bonus, trajectory.mask).mean()}
