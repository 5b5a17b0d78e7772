"""The charts of metrics on pages."""

#: Titles of well-known metrics, in the order of their charts. The first `FIRST_CHARTS` are shown, the others are
#: collapsed. Further metrics, such as those of a user's bonus, come after these under their own names.
CHARTS = {
    "episode_return": "Return of an episode",
    "best_return": "Best return of an update",
    "states": "Distinct states reached",
    "bonus_mean": "Next-state bonus",
    "kl_beta_pi": "KL(\u03b2 || \u03c0)",
    "action_coef": "Coefficient c of the action bonus",
    "action_bonus_mean": "Action bonus",
    "entropy_pi": "Entropy of \u03c0",
    "entropy_beta": "Entropy of \u03b2",
    "entropy_bonus": "Entropy of the action bonus",
    "entropy_added": "Entropy of softmax(Normalize(bonus))",
    "bonus_scale": "Scale of the next-state bonus",
    "explained_int": "Explained variance, intrinsic value",
    "explained_ext": "Explained variance, extrinsic value",
    "loss_policy": "Policy loss",
    "loss_value_int": "Value loss, intrinsic",
    "loss_value_ext": "Value loss, extrinsic",
    "loss_next_state": "Distillation loss, next state",
    "loss_action": "Distillation loss, action",
    "clip_fraction": "Clipped share of samples",
}
FIRST_CHARTS = 6


def chart_title(metric: str) -> str:
    """What the chart of a metric is called."""
    return CHARTS.get(metric, metric)
