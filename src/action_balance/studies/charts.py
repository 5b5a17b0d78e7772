"""The charts of metrics on pages: their titles and their order."""

#: Titles of well-known metrics, in the order of their charts. The first `FIRST_CHARTS` are shown, the others are
#: collapsed. Further metrics, such as those of a user's bonus, come after these under their own names.
CHARTS = {
    "episode_return": "Episode return, mean over episodes",
    "best_return": "Highest episode return in an update",
    "achievements": "Achievements, mean over episodes",
    "states": "Distinct states reached so far",
    "bonus_mean": "Intrinsic reward before scaling",
    "kl_beta_pi": "KL divergence of behaviour policy \u03b2 from policy \u03c0 (nats)",
    "action_coef": "Coefficient c of the action bonus",
    "action_bonus_mean": "Action bonus, mean over actions",
    "entropy_pi": "Entropy of the policy \u03c0 (nats)",
    "entropy_beta": "Entropy of the behaviour policy \u03b2 (nats)",
    "entropy_bonus": "Entropy of the action bonus (nats)",
    "entropy_added": "Entropy of softmax(Normalize(action bonus)) (nats)",
    "action_std": "Standard deviation of actions",
    "action_clipped": "Actions beyond their bounds (proportion)",
    "bonus_scale": "Scale of the intrinsic reward",
    "reward_scale": "Scale of the extrinsic reward",
    "explained_int": "Explained variance of the intrinsic value",
    "explained_ext": "Explained variance of the extrinsic value",
    "loss_policy": "Policy loss",
    "loss_value_int": "Value loss, intrinsic",
    "loss_value_ext": "Value loss, extrinsic",
    "loss_next_state": "Loss of the intrinsic bonus",
    "loss_action": "Loss of the action bonus",
    "clip_fraction": "Proportion of clipped samples",
    "first_ratio": "Largest deviation of a probability ratio from 1",
    "episodes": "Episodes that ended in an update",
    "first_reward": "Steps until the first reward (\u22121 before it)",
    "inverse_accuracy": "Accuracy of the inverse model (proportion)",
    "ngu_distance": "Squared distance to nearest neighbours (NGU)",
    "ngu_memory": "Observations in the episodic memory (NGU)",
    "hash_states": "Distinct hashes of states",
    "hash_collisions": "Hash collisions of states (proportion)",
    "coin_flip_memory": "Visits in the coin-flip memory, states",
    "action_hash_states": "Distinct hashes of state-action pairs",
    "action_hash_collisions": "Hash collisions of state-action pairs (proportion)",
    "action_coin_flip_memory": "Visits in the coin-flip memory, state-action pairs",
    "elliptical_directions": "Directions of features seen, states",
    "action_elliptical_directions": "Directions of features seen, state-action pairs",
    "parameters_finite": "All parameters are finite (1 = yes)",
}
FIRST_CHARTS = 5


def chart_title(metric: str) -> str:
    """What the chart of a metric is called: a title in words, or a readable form of the name of an unknown metric."""
    words = metric.replace("_", " ").strip()
    return CHARTS.get(metric) or words[:1].upper() + words[1:] or metric
