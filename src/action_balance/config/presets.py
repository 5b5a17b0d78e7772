"""Named sets of settings, for ``--preset``; flags override them. The method is a separate setting."""

from action_balance.config.agent import AgentConfig, BonusConfig, PPOConfig

_RND = PPOConfig(learning_rate=1e-4)  # all other settings are the defaults

PRESETS: dict[str, AgentConfig] = {
    # The neural study: small networks, a few environments, minutes on a laptop. These are the defaults.
    "study": AgentConfig(),
    # The paper's Atari experiments, as its authors ran them: 32 environments, 42 million steps, a quarter of the
    # samples for the predictors; all else as in RND.
    "atari-paper": AgentConfig(envs=32, steps=42_000_000, ppo=_RND, bonus=BonusConfig(update_proportion=0.25)),
    # RND as OpenAI ran it (Burda et al., 2019, Table 5): 128 environments, 30,000 updates (1.97 billion frames).
    "atari-rnd": AgentConfig(
        method="rnd", envs=128, steps=30_000 * 128 * 128, ppo=_RND, bonus=BonusConfig(update_proportion=0.25)
    ),
}
