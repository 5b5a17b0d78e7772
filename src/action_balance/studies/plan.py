"""The training runs that a study plans: their names, and which run in a folder is the planned one."""

from dataclasses import replace

from action_balance.config.agent import AgentConfig, HostConfig
from action_balance.config.train import TrainConfig


def method_name(config: AgentConfig) -> str:
    """``action-balance-rnd``, or ``action-balance-rnd-raw`` with another normalisation than L2."""
    default = not config.balances or config.normalize == "l2"
    return config.method if default else f"{config.method}-{config.normalize}"


def run_name(config: TrainConfig) -> str:
    """Folder of a run on Atari: game, method, seed."""
    return f"{config.env.short_name}-{method_name(config.agent)}-{config.seed}"


def as_begun(config: TrainConfig, host: HostConfig) -> TrainConfig:
    """A planned config with the lag and groups that a run chose when it began, where the plan leaves them open."""
    planned = config.agent.host
    chosen = {name: getattr(host, name) for name in ("lag", "groups") if getattr(planned, name) is None}
    return replace(config, agent=replace(config.agent, host=replace(planned, **chosen)))
