"""Sets of settings by name, for ``--preset``; flags change what they say. The method is a setting of its own."""

from action_balance.agent.config import BonusConfig, Config, PPOConfig

PRESETS: dict[str, Config] = {
    # The neural study: small networks, a few environments, minutes on a laptop. These are the defaults.
    "study": Config(),
    # The paper's Atari experiments, as its authors ran them: 32 environments, 42 million steps, a quarter of the
    # samples for the predictors; Adam with 1e-4 as in RND (Burda et al., 2019).
    "paper": Config(envs=32, steps=42_000_000, ppo=PPOConfig(learning_rate=1e-4), bonus=BonusConfig(share=0.25)),
}
