"""Stable-Baselines3: PPO with action balance and with RND, `ExploringPPO`."""

from action_balance.interop.sb3.algorithm import ExploringPPO

__all__ = ["ExploringPPO"]
