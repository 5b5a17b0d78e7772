"""Algorithm 1: configuration and presets, rollout, update, training loop."""
