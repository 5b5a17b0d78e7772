"""The bonuses of one agent of Stable-Baselines3: used at every step, learning once per rollout, saved with the agent.

Axes: T steps, N environments, A choices of all action components, C action components.
"""

from typing import Any, Self

import torch as th
from gymnasium import spaces

from action_balance.config.methods import NONE
from action_balance.interop.bonuses import ActionBalance, IntrinsicBonus
from action_balance.interop.sb3.rollout import Rollout


class Explorer:
    """A bonus that balances, one that rewards, or both."""

    def __init__(self, balance: ActionBalance | None, intrinsic: IntrinsicBonus | None) -> None:
        self.balance = balance
        self.intrinsic = intrinsic

    @classmethod
    def create(
        cls,
        obs_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        environments: int,
        action_bonus: dict[str, Any],
        intrinsic: dict[str, Any],
        seed: int,
    ) -> Self:
        """From the arguments of both bonuses, without the spaces."""
        balance = rewards = None
        if is_used(action_bonus["action_bonus"]):
            balance = ActionBalance.create(obs_space, action_space, **{"seed": seed, **action_bonus})
        if is_used(intrinsic["intrinsic"]):
            given = {"seed": seed, "environments": environments, **intrinsic}
            rewards = IntrinsicBonus.create(obs_space, action_space, **given)
        return cls(balance, rewards)

    @property
    def bonuses(self) -> dict[str, ActionBalance | IntrinsicBonus]:
        pairs = {"action_bonus": self.balance, "intrinsic": self.intrinsic}
        return {name: bonus for name, bonus in pairs.items() if bonus is not None}

    def observe(self, obs: Any) -> None:
        """Update the observation statistics with steps of a random agent."""
        for bonus in self.bonuses.values():
            bonus.observe(obs)

    def new_episodes(self) -> None:
        """Forget the episodes under way, because all environments are reset."""
        if self.intrinsic is not None:
            self.intrinsic.new_episodes()

    def learn(self, rollout: Rollout, epochs: int, minibatches: int) -> dict[str, float]:
        errors, passes = dict[str, float](), {"epochs": epochs, "minibatches": minibatches}
        if self.balance is not None:
            errors["action_bonus"] = self.balance.learn(
                rollout.transitions["obs"], rollout.transitions["actions"], **passes
            )
        if self.intrinsic is not None:
            errors["intrinsic"] = self.intrinsic.learn(rollout.next_obs, **passes, **rollout.transitions)
        return {name: error for name, error in errors.items() if self.bonuses[name].has_loss}

    def state_dict(self) -> dict[str, Any]:
        """Everything that the bonuses have learned, as dictionaries of tensors."""
        return {name: bonus.state_dict(tensors=True) for name, bonus in self.bonuses.items()}

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Continue from what `state_dict` returned.

        The intrinsic returns of single environments start again where the number of environments has changed.
        """
        del strict
        for name, bonus in self.bonuses.items():
            own, saved = bonus.state_dict(tensors=True), state[name]
            if own["settings"].get("environments") != saved["settings"].get("environments"):
                saved = {**saved, "settings": own["settings"], "arrays": _fitting(saved["arrays"], own["arrays"])}
            bonus.load_state_dict(saved)


def _fitting(saved: dict[str, th.Tensor], own: dict[str, th.Tensor]) -> dict[str, th.Tensor]:
    """Saved arrays; those whose shapes depend on the number of environments are the bonus's own."""
    return {key: value if own[key].shape == value.shape else own[key] for key, value in saved.items()}


def is_used(bonus: Any) -> bool:
    return bonus not in (None, NONE)
