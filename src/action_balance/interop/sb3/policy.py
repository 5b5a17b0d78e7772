"""Policies of Stable-Baselines3 that act by the behaviour policy (Eq. 5) and value two streams of rewards.

Axes: B samples, A choices of all action components, K candidates, n numbers of an action.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import torch as th
from gymnasium import spaces
from stable_baselines3.common.distributions import DiagGaussianDistribution, Distribution
from stable_baselines3.common.policies import ActorCriticCnnPolicy, ActorCriticPolicy, MultiInputActorCriticPolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from torch import nn

from action_balance.interop.tensors import candidate_log_weight


class Resampled(NamedTuple):
    """Continuous actions that were drawn from the policy, and which of them was taken."""

    shift: th.Tensor  # (B, K); one of them is drawn by its softmax
    chosen: th.Tensor  # (B, 1)
    actions: th.Tensor  # (B, K, n)
    log_probs: th.Tensor  # of the policy when they were drawn, (B, K)


class ShiftedObs(NamedTuple):
    """Observations of a minibatch, and what action balance added to the logits when the actions were chosen."""

    obs: PyTorchObs
    shift: th.Tensor | tuple[th.Tensor, ...]  # (B, A); where actions are continuous, the fields of `Resampled`


class Acted(NamedTuple):
    """What the last decision of a policy was based on, beside its observations."""

    shift: th.Tensor | Resampled | None  # what was added to the logits, (B, A); None without action balance
    intrinsic_value: th.Tensor | None  # of the intrinsic stream, (B,); None without it


class BalancedGaussian(DiagGaussianDistribution):
    """The behaviour policy of continuous actions, which takes one of several candidates (`core.candidates`).

    Its entropy and its mode are those of the Gaussian.
    """

    def __init__(self, gaussian: DiagGaussianDistribution, candidates: Resampled) -> None:
        super().__init__(gaussian.action_dim)
        self.distribution, self.candidates = gaussian.distribution, candidates

    def sample(self) -> th.Tensor:
        return self.candidates.actions.take_along_dim(self.candidates.chosen[..., None], dim=1)[:, 0]

    def log_prob(self, actions: th.Tensor) -> th.Tensor:
        """``log pi(a)`` plus the log-weight of the candidate, with the gradient of both."""
        shift, chosen, drawn, before = self.candidates
        drift = _log_probs(self.distribution, drawn) - before
        return super().log_prob(actions) + candidate_log_weight(shift, drift, chosen[:, 0])


def _log_probs(gaussian: Any, actions: th.Tensor) -> th.Tensor:
    """Of candidates, (B, K)."""
    return gaussian.log_prob(actions.movedim(1, 0)).sum(dim=-1).T


class ExploringPolicy(ActorCriticPolicy):
    """What `ExploringPPO` adds to a policy class of Stable-Baselines3.

    Calling the policy, as a rollout does, samples from the behaviour policy: ``shift_of`` gives what is added to the
    logits, or to the chances of candidates that were drawn from a Gaussian policy. ``evaluate_actions`` adds the same
    numbers again. Everything else, ``predict`` above all, is the policy without them. With ``intrinsic_value``, the
    value network has a second output for intrinsic returns.
    """

    shift_of: Callable[..., th.Tensor] | None = None  # of observations and candidates; None adds nothing
    candidates = 16  # K, where actions are continuous

    def __init__(self, *args: Any, intrinsic_value: bool = False, **kwargs: Any) -> None:
        self.intrinsic_value = intrinsic_value
        self.acted = Acted(None, None)
        self._shift: Any = None  # what is added; candidates, or the function that scores them, of continuous actions
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
        return logits + self._shift if isinstance(self._shift, th.Tensor) else logits

    def _get_action_dist_from_latent(self, latent_pi: th.Tensor) -> Distribution:
        policy: Any = super()._get_action_dist_from_latent(latent_pi)
        if callable(self._shift):
            self._shift = self._draw(policy.distribution, self._shift)
        return BalancedGaussian(policy, self._shift) if isinstance(self._shift, Resampled) else policy

    def _draw(self, gaussian: Any, shift_of: Callable[..., th.Tensor]) -> Resampled:
        """Draw candidates, and one of them by Eq. 5."""
        actions = gaussian.sample((self.candidates,)).movedim(0, 1)
        shift = shift_of(candidates=actions.reshape(*actions.shape[:2], *(self.action_space.shape or ())))
        return Resampled(shift, shift.softmax(dim=-1).multinomial(1), actions, _log_probs(gaussian, actions))

    def forward(self, obs: Any, deterministic: bool = False) -> tuple[th.Tensor, th.Tensor, th.Tensor]:
        if self.shift_of is not None:
            continuous = isinstance(self.action_space, spaces.Box)
            self._shift = partial(self.shift_of, obs) if continuous else self.shift_of(obs)
        try:
            actions, values, log_prob = super().forward(obs, deterministic)
            self.acted = Acted(self._shift, values[:, 1] if self.intrinsic_value else None)
        finally:
            self._shift = None
        return actions, values[:, :1], log_prob

    def evaluate_actions(
        self, obs: PyTorchObs | ShiftedObs, actions: th.Tensor
    ) -> tuple[th.Tensor, th.Tensor, th.Tensor | None]:
        """Values, log-probabilities and entropies; of continuous actions, log-probabilities are those of the candidate
        that was taken, and entropies those of the Gaussian."""
        if not isinstance(obs, ShiftedObs):
            return super().evaluate_actions(obs, actions)
        self._shift = Resampled(*obs.shift) if isinstance(obs.shift, tuple) else obs.shift
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
