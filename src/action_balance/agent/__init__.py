"""Algorithm 1 as pure functions: state, warm-up, rollout, update, metrics."""
