"""Settings of PQN. Nothing here imports JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from action_balance.config.algorithm import AlgorithmConfig
from action_balance.config.fields import number

#: What suits small worlds: Q-values in units of rewards, which are at most about 1.
_STUDY = {
    "algorithm.learning_rate": 1e-3,
    "algorithm.learning_rate_end": 0.0,
    "algorithm.intrinsic_ends": "episode",
    "algorithm.temperature": 0.03,
    "exploration.epsilon_end": 0.0,
}
#: What suits rewards of any scale.
_CLASSIC = {
    "algorithm.minibatches": 8,
    "algorithm.minibatch_of": "samples",
    "algorithm.learning_rate": 1e-3,
    "algorithm.learning_rate_end": 0.0,
    "algorithm.max_grad_norm": 10.0,
    "algorithm.normalize_returns": True,
    "algorithm.bootstrap_truncation": True,
    "algorithm.gamma_ext": 0.99,
    "exploration.epsilon": 0.5,
    "exploration.epsilon_end": 0.05,
    "exploration.epsilon_spread": True,
}


@dataclass(frozen=True)
class PQNConfig(AlgorithmConfig):
    """PQN with two streams of rewards (Gallici et al., 2024): Q(lambda) on rollouts."""

    q_lambda: float = number(0.9, high=1)
    """Lambda of the returns that Q-values learn, for both reward streams."""
    temperature: float = number(0.0)
    """Temperature of the softmax over Q-values that actions are drawn from; 0: the action with the largest Q-value."""

    epsilon: ClassVar[float] = 0.1
    action_coef: ClassVar[float] = 0.1  # Q-values are much smaller than logits
    adapts_with_epsilon: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = ("loss_value_int", "loss_value_ext", "q_mean", "return_std", "tv_beta_pi")
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **dict.fromkeys(("study", "chains", "rooms"), _STUDY),
        "classic": _CLASSIC,
        # As the authors have it for MinAtar, with half as many environments.
        "vectorized": {
            **_CLASSIC,
            "algorithm.rollout_steps": 32,
            "algorithm.epochs": 2,
            "algorithm.minibatches": 16,
            "algorithm.learning_rate": 5e-4,
            "algorithm.q_lambda": 0.65,
            "algorithm.normalize_returns": False,
            "exploration.epsilon": 1.0,
            "exploration.epsilon_decay": 0.1,
            "exploration.epsilon_spread": False,
        },
    }
