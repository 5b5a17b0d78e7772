"""Settings of an agent that has learned and only acts: those of its bonuses are gone."""

from dataclasses import replace

from action_balance.config.agent import ADAPTS, AgentConfig, BonusConfig, PPOConfig
from action_balance.config.frozen import FrozenDict

#: Settings of the action bonus.
OF_ACTION_BONUS = ("action_coef", "action_coef_end", "normalize", *ADAPTS)


def policy_only(agent: AgentConfig) -> AgentConfig:
    """The settings of the policy alone: no bonus rewards it or balances it."""
    plain = {name: getattr(BonusConfig, name) for name in OF_ACTION_BONUS}
    return replace(
        agent,
        method="random" if agent.uniform else "ppo",
        intrinsic=None,
        action_bonus=None,
        bonus=replace(agent.bonus, **plain),
        bonus_settings=FrozenDict(),
        ppo=replace(agent.ppo, epsilon=None, entropy_coef=None, entropy_base=PPOConfig.entropy_base),
    )
