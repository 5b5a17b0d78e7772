"""Who runs Algorithm 1: device or host environments, the training loop, evaluation."""
