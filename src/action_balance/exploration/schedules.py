"""Settings that change linearly over the length of a run, as plain numbers, for messages."""

from action_balance.config.agent import AgentConfig


def scheduled(config: AgentConfig, update: int) -> dict[str, float]:
    """What settings with an end are after a number of updates, by the flag of the end: c of Eq. 5, the learning rate
    and epsilon. See `action_coef`, `learning_rate_factor` and `Exploration.epsilon`."""
    exploration, algorithm, last = config.exploration, config.algorithm, max(config.updates - 1, 1)
    schedules = {
        "--action-coef-end": (config.action_coef, exploration.action_coef_end, last),
        "--learning-rate-end": (algorithm.learning_rate, algorithm.learning_rate_end, config.updates),
        "--epsilon-end": (config.epsilon, exploration.epsilon_end, max(1.0, exploration.epsilon_decay * last)),
    }
    return {
        flag: start + (end - start) * min(update / length, 1.0)
        for flag, (start, end, length) in schedules.items()
        if end is not None and not isinstance(start, str)
    }
