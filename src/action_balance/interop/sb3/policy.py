"""Policies of Stable-Baselines3 that act by the behaviour policy (Eq. 5) and value two streams of rewards.

Axes: B samples, A choices of all action components.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch as th
from stable_baselines3.common.policies import ActorCriticCnnPolicy, ActorCriticPolicy, MultiInputActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import nn

from action_balance.interop.tensors import mapped


class ShiftedObs(NamedTuple):
    """Observations of a minibatch, and what action balance added to the logits when the actions were chosen."""

    obs: PyTorchObs
    shift: th.Tensor  # (B, A)


class Acted(NamedTuple):
    """What the last decision of a policy was based on, beside its observations."""

    shift: th.Tensor | None  # what was added to the logits, (B, A); None without action balance
    intrinsic_value: th.Tensor | None  # of the intrinsic stream, (B,); None without it


class ExploringPolicy(ActorCriticPolicy):
    """What `ExploringPPO` adds to a policy class of Stable-Baselines3.

    Calling the policy, as a rollout does, samples from the behaviour policy: ``shift_of`` gives what is added to the
    logits. ``evaluate_actions`` adds the same numbers again. Everything else, ``predict`` above all, is the policy
    without them. With ``intrinsic_value``, the value network has a second output for intrinsic returns.
    """

    shift_of: Callable[[PyTorchObs], th.Tensor] | None = None  # what is added to the logits; None adds nothing

    def __init__(self, *args: Any, intrinsic_value: bool = False, **kwargs: Any) -> None:
        self.intrinsic_value = intrinsic_value
        self.acted = Acted(None, None)
        self._shift: th.Tensor | None = None
        super().__init__(*args, **kwargs)

    def _get_constructor_parameters(self) -> dict[str, Any]:
        return {**super()._get_constructor_parameters(), "intrinsic_value": self.intrinsic_value}

    def _build(self, lr_schedule: Schedule) -> None:
        """The networks of the base class, a value network with a second output, and the shift after the logits."""
        super()._build(lr_schedule)
        self.action_net.register_forward_hook(self._add_shift)
        if self.intrinsic_value:
            self.value_net = nn.Linear(self.mlp_extractor.latent_dim_vf, 2)
            if self.ortho_init:
                self.init_weights(self.value_net)
            settings: dict[str, Any] = {"lr": lr_schedule(1), **self.optimizer_kwargs}
            self.optimizer = self.optimizer_class(self.parameters(), **settings)

    def _add_shift(self, module: nn.Module, inputs: Any, logits: th.Tensor) -> th.Tensor:
        del module, inputs
        return logits if self._shift is None else logits + self._shift

    def forward(self, obs: Any, deterministic: bool = False) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        shift = None if self.shift_of is None else self.shift_of(obs)
        self._shift = shift
        try:
            actions, values, log_prob = super().forward(obs, deterministic)
        finally:
            self._shift = None
        self.acted = Acted(shift, values[:, 1] if self.intrinsic_value else None)
        return actions, values[:, :1], log_prob

    def evaluate_actions(
        self, obs: PyTorchObs | ShiftedObs, actions: th.Tensor
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor | None]:
        if not isinstance(obs, ShiftedObs):
            return super().evaluate_actions(obs, actions)
        self._shift = obs.shift
        try:
            return super().evaluate_actions(obs.obs, actions)
        finally:
            self._shift = None

    def predict_values(self, obs: PyTorchObs) -> th.Tensor:
        return super().predict_values(obs)[:, :1]

    def intrinsic_values(self, obs: PyTorchObs) -> th.Tensor:
        return super().predict_values(obs)[:, 1]


class ExploringMlpPolicy(ExploringPolicy, ActorCriticPolicy):
    """Stable-Baselines3's ``MlpPolicy``, exploring."""


class ExploringCnnPolicy(ExploringPolicy, ActorCriticCnnPolicy):
    """Stable-Baselines3's ``CnnPolicy``, exploring."""


class ExploringMultiInputPolicy(ExploringPolicy, MultiInputActorCriticPolicy):
    """Stable-Baselines3's ``MultiInputPolicy``, exploring."""


#: The policies by their names in Stable-Baselines3.
POLICIES: dict[str, type[ActorCriticPolicy]] = {
    "MlpPolicy": ExploringMlpPolicy,
    "CnnPolicy": ExploringCnnPolicy,
    "MultiInputPolicy": ExploringMultiInputPolicy,
}


def exploring(policy: type[ActorCriticPolicy]) -> type[ActorCriticPolicy]:
    if issubclass(policy, ExploringPolicy):
        return policy
    return type(f"Exploring{policy.__name__}", (ExploringPolicy, policy), {"__doc__": policy.__doc__})


def to_numpy(obs: PyTorchObs) -> Any:
    return mapped(lambda part: np.asarray(part.cpu()), obs)
