"""The elliptical episodic bonus (E3B, Henaff et al., 2022, https://arxiv.org/abs/2210.05805).

It generalises counts within an episode to features: in a direction in which the features of the episode have varied,
the bonus falls.

Axes: T steps, N environments, P samples of a minibatch, D features.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.bonuses.base import Batch, Bonus
from action_balance.bonuses.episodic import scan_episodes
from action_balance.bonuses.inverse_dynamics import InverseDynamics
from action_balance.config.bonuses import E3BConfig
from action_balance.core.elliptical import add_visit, empty_root
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd


class E3BState(eqx.Module):
    """What E3B keeps."""

    roots: Float[Array, "N D D"]  # of C^-1 of the episode that each environment is in
    accuracy: Float[Array, ""]  # of the inverse model in the newest rollout, for the metrics


@dataclass(frozen=True)
class E3B(Bonus):
    """The next-state bonus ``b_t = phi(s_{t+1})' C_{t-1}^-1 phi(s_{t+1})``, with inverse dynamics features phi.

    ``C_{t-1} = ridge I + sum_{i < t} phi(s_{i+1}) phi(s_{i+1})'`` is over the earlier steps of the episode. It begins
    anew after every end of an episode, and continues from rollout to rollout. The features of a rollout are those of
    the encoder before it was trained on the rollout; those of earlier rollouts stay as they were.

    The bonus belongs to the episode: ``--intrinsic-ends episode`` cuts the intrinsic return where the bonus restarts.
    """

    Config: ClassVar[type] = E3BConfig
    uses_obs_stats: ClassVar[bool] = True

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[InverseDynamics, E3BState]:
        dynamics = InverseDynamics(self.spec, self.agent, self.config.features, named_key(key, "dynamics"))
        roots = jnp.broadcast_to(self._empty(), (self.agent.envs, *self._empty().shape))
        return dynamics, E3BState(roots, jnp.zeros(()))

    def new_episodes(self, state: E3BState) -> E3BState:
        return E3BState(jnp.broadcast_to(self._empty(), state.roots.shape), state.accuracy)

    def reward(self, params: InverseDynamics, state: E3BState, rollout: Batch) -> tuple[Float[Array, "T N"], E3BState]:
        encoded = params.encode(rollout)
        ended = rollout.transitions.ended
        roots, bonus = scan_episodes(add_visit, lambda _: self._empty(), state.roots, encoded.after, ended)
        return bonus, E3BState(roots, params.accuracy(encoded))

    def loss(self, params: InverseDynamics, state: Any, batch: Batch) -> Float[Array, " P"]:
        return params.losses(params.encode(batch))

    def metrics(self, params: Any, state: E3BState) -> dict[str, Float[Array, ""]]:
        return {"inverse_accuracy": state.accuracy}

    def _empty(self) -> Float[Array, "D D"]:
        return empty_root(self.config.features, self.config.ridge)
