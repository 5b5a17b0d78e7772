"""Settings that change linearly over the length of a run, as plain numbers, for messages."""

from action_balance.config.agent import AgentConfig


def coef_at(config: AgentConfig, update: int) -> float | None:
    """c of Eq. 5 after a number of updates; see `action_balance.algorithms.rollout.action_coef`."""
    start, end = config.action_coef, config.exploration.action_coef_end
    if end is None or isinstance(start, str):
        return None
    return start + (end - start) * min(update / max(config.updates - 1, 1), 1.0)


def learning_rate_at(config: AgentConfig, update: int) -> float | None:
    """The learning rate after a number of updates; see `action_balance.algorithms.update.learning_rate_factor`."""
    start, end = config.algorithm.learning_rate, config.algorithm.learning_rate_end
    return None if end is None else start + (end - start) * min(update / config.updates, 1.0)


def epsilon_at(config: AgentConfig, update: int) -> float | None:
    """The probability of random actions after a number of updates; see `action_balance.exploration.base`."""
    start, end = config.epsilon, config.exploration.epsilon_end
    length = max(1.0, config.exploration.epsilon_decay * (config.updates - 1))
    return None if end is None else start + (end - start) * min(update / length, 1.0)
