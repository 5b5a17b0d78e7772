"""The bonuses of one agent of Stable-Baselines3: used at every step, trained once per rollout, saved with the agent.

Axes: T steps, N environments, A choices of all action components, C action components.
"""

from typing import Any, Self

import numpy as np
import torch as th
from gymnasium import spaces

from action_balance.interop.bonuses import RND, ActionBalance
from action_balance.interop.tensors import mapped


class Explorer:
    """Action balance, RND, or both."""

    def __init__(self, action_space: spaces.Space[Any], balance: ActionBalance | None, rnd: RND | None) -> None:
        self._action_space = action_space
        self.balance = balance
        self.rnd = rnd

    @classmethod
    def create(
        cls,
        obs_space: spaces.Space[Any],
        action_space: spaces.Space[Any],
        environments: int,
        balance: dict[str, Any] | None,
        rnd: dict[str, Any] | None,
        seed: int,
    ) -> Self:
        return cls(
            action_space,
            None if balance is None else ActionBalance.create(obs_space, action_space, **{"seed": seed, **balance}),
            None if rnd is None else RND.create(obs_space, environments=environments, **{"seed": seed, **rnd}),
        )

    @property
    def bonuses(self) -> dict[str, ActionBalance | RND]:
        pairs = {"action_balance": self.balance, "rnd": self.rnd}
        return {name: bonus for name, bonus in pairs.items() if bonus is not None}

    def observe(self, obs: Any) -> None:
        """Update the observation statistics with steps of a random agent."""
        for bonus in self.bonuses.values():
            bonus.observe(obs)

    def learn(self, obs: Any, actions: np.ndarray, next_obs: Any, epochs: int, minibatches: int) -> dict[str, float]:
        errors, passes = {}, {"epochs": epochs, "minibatches": minibatches}
        if self.balance is not None:
            shaped = mapped(lambda part, like: part.reshape(like.shape), obs, next_obs)
            taken = actions.reshape(*actions.shape[:2], *(self._action_space.shape or ()))
            errors["action_balance"] = self.balance.learn(shaped, taken, **passes)
        if self.rnd is not None:
            errors["rnd"] = self.rnd.learn(next_obs, **passes)
        return errors

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
