"""Distillation of pairs: a predictor learns a fixed random target, and its error estimates how rarely a pair occurred.

`Distillation` is the error of states (Eq. 1) as of pairs (Eq. 2); `PairDistillation` is the paper's action bonus.
Axes: A choices of all action components, K actions, V numbers of an action as a vector, D outputs of the networks, P
samples of a minibatch. `Distillation` takes one input per call; ``vmap`` outside.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from action_balance.bonuses.base import Batch, Bonus, BonusObs
from action_balance.bonuses.networks import bonus_network
from action_balance.config.bonuses import DistillationConfig
from action_balance.core.keys import named_key
from action_balance.core.running_stats import RunningMeanStd
from action_balance.errors import UserError
from action_balance.nets.bonus import Action


@runtime_checkable
class Features(Protocol):
    """A target or predictor: a network of a state, and of a pair where it knows actions."""

    def __call__(self, observation: Float[Array, "..."], action: Action | None = None) -> Float[Array, " D"]:
        """Output of a state or a pair."""
        ...

    def all_actions(self, observation: Float[Array, "..."]) -> Float[Array, "A D"]:
        """Outputs of all actions of a state."""
        ...


def squared_error(prediction: Float[Array, "*b D"], target: Float[Array, "*b D"]) -> Float[Array, " *b"]:
    """Mean over the outputs of the squared differences: Eq. 1 and 2 up to the factor 1 / D."""
    return ((prediction - target) ** 2).mean(axis=-1)


class Distillation(eqx.Module):
    """A target and a predictor of the same input (Burda et al., 2019). Only the predictor is trained."""

    target: Features
    predictor: Features

    def error(self, observation: Float[Array, "..."], action: Action | None = None) -> Float[Array, ""]:
        """``||f_hat(s) - f(s)||^2`` (Eq. 1) or ``||g_hat(s, a) - g(s, a)||^2`` (Eq. 2).

        Args:
            observation: A normalised observation s.
            action: The action a, its index or as a vector; None for the error of a state.

        Returns:
            The error. No gradient reaches the target.
        """
        target = jax.lax.stop_gradient(self.target(observation, action))
        return squared_error(self.predictor(observation, action), target)

    def all_errors(self, observation: Float[Array, "..."]) -> Float[Array, " A"]:
        """The bonus vector ``r_ab(s, .)`` (Eq. 4): the errors of all actions of a state.

        Args:
            observation: A normalised observation s.

        Returns:
            One error per action; what does not depend on the action is computed once.
        """
        target = jax.lax.stop_gradient(self.target.all_actions(observation))
        return squared_error(self.predictor.all_actions(observation), target)


@dataclass(frozen=True)
class PairDistillation(Bonus):
    """The action bonus ``r_ab(s, a) = ||g_hat(s, a) - g(s, a)||^2`` of all actions of a state (Eq. 2 and 4).

    The parameters are those of the predictor g_hat; the state is the fixed random target g. Of an action with several
    components, every choice of every component is a pair of its own.
    """

    Config: ClassVar[type] = DistillationConfig
    uses_obs_stats: ClassVar[bool] = True

    def check(self) -> None:
        """An action channel needs images, with a row for every action, and learning from all actions a list of them."""
        if not self.spec.lists_actions and self.config != DistillationConfig():
            raise UserError(
                "continuous actions need --embedding one-hot and --learns-from taken, as in --method action-balance-rnd"
            )
        if self.config.embedding != "channel":
            return
        if not self.spec.is_image:
            what = "also vectors" if self.spec.is_mixed else "none"
            raise UserError(f"an action channel needs images, but this environment has {what}: use action-balance-rnd")
        if (actions := self.distribution.choices) > self.spec.frame_shape[0]:
            raise UserError(f"images have too few rows for an action channel of {actions} actions: use one-hot")

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[Any, Any]:
        sizes: dict[str, Any] = {"pairs": True, "as_channel": self.config.embedding == "channel"}
        return (
            bonus_network(self.spec, self.agent, predictor=True, key=named_key(key, "predictor"), **sizes),
            bonus_network(self.spec, self.agent, predictor=False, key=named_key(key, "target"), **sizes),
        )

    def scores(self, params: Any, state: Any, obs: BonusObs) -> Float[Array, " A"]:
        return Distillation(state, params).all_errors(obs.normalized)

    def scores_of(self, params: Any, state: Any, obs: BonusObs, actions: Float[Array, "K V"]) -> Float[Array, " K"]:
        module, seen = Distillation(state, params), obs.normalized
        return jax.vmap(lambda action: module.error(seen, action))(actions)

    def reward(self, params: Any, state: Any, rollout: Batch) -> tuple[Float[Array, "T N"], Any]:
        """The error of every pair that was taken."""
        module = Distillation(state, params)
        return rollout.each(lambda obs, action, _: self._taken(module, obs, action)), state

    def loss(self, params: Any, state: Any, batch: Batch) -> Float[Array, " P"]:
        """The errors that the predictor minimises: of the pairs that were taken, or of all actions."""
        module = Distillation(state, params)
        if self.config.learns_from == "taken":
            taken: Array = batch.each(lambda obs, action, _: self._taken(module, obs, action))
            return taken
        split = self.distribution.discrete.split

        def every(obs: BonusObs, *_: Any) -> Array:
            return jnp.stack([part.mean() for part in split(module.all_errors(obs.normalized))]).sum()

        errors: Array = batch.each(every)
        return errors

    def _taken(self, module: Distillation, obs: BonusObs, action: Array) -> Array:
        if not self.spec.lists_actions:
            return module.error(obs.normalized, self.distribution.vector(action))
        if not self.spec.action_shape:
            return module.error(obs.normalized, action)
        return self.distribution.discrete.chosen(module.all_errors(obs.normalized), action).sum()
