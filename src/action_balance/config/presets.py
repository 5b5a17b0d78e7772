"""Sets of settings by name, for ``--preset``; flags change what they say. The method is a setting of its own."""

from action_balance.config.agent import BonusConfig, Config, PPOConfig

_RND = PPOConfig(learning_rate=1e-4)  # all else is its defaults

PRESETS: dict[str, Config] = {
    # The neural study: small networks, a few environments, minutes on a laptop. These are the defaults.
    "study": Config(),
    # The paper's Atari experiments, as its authors ran them: 32 environments, 42 million steps, a quarter of the
    # samples for the predictors; all else as in RND.
    "atari-paper": Config(envs=32, steps=42_000_000, ppo=_RND, bonus=BonusConfig(share=0.25)),
    # RND as OpenAI ran it (Burda et al., 2019, Table 5): 128 environments, 30,000 updates (1.97 billion frames).
    "atari-rnd": Config(method="rnd", envs=128, steps=30_000 * 128 * 128, ppo=_RND, bonus=BonusConfig(share=0.25)),
}
