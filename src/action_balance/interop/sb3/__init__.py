"""Stable-Baselines3: PPO with action balance and with RND, `ExploringPPO`."""

from action_balance.interop.sb3.algorithm import ExploringPPO
from action_balance.interop.sb3.policy import ExploringPolicy

__all__ = ["ExploringPPO", "ExploringPolicy"]
