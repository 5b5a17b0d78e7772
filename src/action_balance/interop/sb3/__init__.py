"""Stable-Baselines3: PPO with an intrinsic reward and with action balance, `ExploringPPO`."""

from action_balance.files import missing

try:
    from action_balance.interop.sb3.algorithm import ExploringPPO
except ModuleNotFoundError as error:
    raise ImportError(str(missing(str(error.name), "ExploringPPO", "sb3"))) from None

__all__ = ["ExploringPPO"]
