"""Action balance exploration for reinforcement learning."""

__version__ = "0.1.0"
