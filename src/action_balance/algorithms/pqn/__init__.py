"""Q-learning without a replay buffer or target networks (PQN), with two reward streams."""
