"""Settings that change linearly over the length of a run, as plain numbers, for messages."""

from action_balance.config.agent import AgentConfig


def coef_at(config: AgentConfig, update: int) -> float | None:
    """c of Eq. 5 after a number of updates; see `action_balance.agent.rollout.action_coef`."""
    start, end = config.action_coef, config.bonus.action_coef_end
    if end is None or isinstance(start, str):
        return None
    return start + (end - start) * min(update / max(config.updates - 1, 1), 1.0)


def learning_rate_at(config: AgentConfig, update: int) -> float | None:
    """The learning rate after a number of updates; see `action_balance.agent.update.learning_rate_factor`."""
    start, end = config.ppo.learning_rate, config.ppo.learning_rate_end
    return None if end is None else start + (end - start) * min(update / config.updates, 1.0)
