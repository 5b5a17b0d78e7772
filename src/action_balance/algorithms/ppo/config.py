"""Settings of PPO. Nothing here imports JAX."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from action_balance.config.algorithm import MAX_COEF, AlgorithmConfig
from action_balance.config.fields import number

#: PPO as it is commonly run on tasks of any reward scale: the numbers that the field agrees on (Schulman et al., 2017;
#: Raffin et al., 2021; Huang et al., 2022), and rewards in units of the return.
_CLASSIC = {
    "algorithm.epochs": 10,
    "algorithm.minibatches": 16,
    "algorithm.minibatch_of": "samples",
    "algorithm.learning_rate": 6e-4,  # its mean over a run is the 3e-4 that is common without decay
    "algorithm.learning_rate_end": 0.0,
    "algorithm.max_grad_norm": 0.5,
    "algorithm.clip": 0.2,
    # Standardised advantages are as large where nothing is to be gained: without this, the policy becomes deterministic
    # before it has found a reward (MiniGrid's DoorKey-8x8 is not solved with 0.001 and is with 0.01).
    "algorithm.entropy_base": 0.01,
    "algorithm.normalize_advantages": True,
    "algorithm.normalize_returns": True,
    "algorithm.bootstrap_truncation": True,
    "algorithm.gamma_ext": 0.99,
}
_RND = {"algorithm.learning_rate": 1e-4}  # all other settings are the defaults

#: The value loss dwarfs the policy's from this ratio on; smaller policy losses than this count as this.
DWARFS, LEAST_POLICY_LOSS = 1000.0, 0.01


@dataclass(frozen=True)
class PPOConfig(AlgorithmConfig):
    """PPO with two reward streams; without a preset, the settings of RND, except for the learning rate."""

    clip: float = number(0.1, above=True)
    """Clipping range of the probability ratio: 1 +- this value."""
    entropy_coef: float | None = number(None, high=MAX_COEF)
    """Weight of the entropy of the behaviour policy (default: --entropy-base, or 0 with continuous actions, whose
    entropy has no upper limit; ten times --entropy-base with --method entropy)."""
    entropy_base: float = number(0.001, high=MAX_COEF)
    """Weight of the entropy if --entropy-coef is not given; --method entropy uses ten times this value."""
    gae_lambda: float = number(0.95, high=1)
    """Lambda of generalised advantage estimation, for both reward streams."""
    value_coef: float = number(1.0, high=MAX_COEF)
    """Weight of the value loss, which is half the squared error."""
    normalize_advantages: bool = False
    """Standardise the advantages of every minibatch to mean 0 and standard deviation 1."""

    has_entropy: ClassVar[bool] = True
    metrics: ClassVar[tuple[str, ...]] = (
        *("loss_policy", "loss_value_int", "loss_value_ext", "clip_fraction", "first_ratio"),
        *("explained_int", "explained_ext", "kl_beta_pi"),
    )
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "classic": {**_CLASSIC, "network.trunks": "separate", "network.activation": "tanh"},
        "vectorized": {
            **_CLASSIC,
            "algorithm.epochs": 4,
            "algorithm.minibatches": 8,
            "algorithm.learning_rate": 1e-3,
        },
        "atari-paper": _RND,
        "atari-rnd": _RND,
    }

    def stall_reason(self, metrics: Mapping[str, float], separate_trunks: bool | None) -> str | None:
        """One network, or one clipped gradient, is shared by the policy and the values: where returns are large, the
        value loss is larger than the policy's by orders of magnitude, and the policy stays as it was."""
        value_loss, policy_loss = metrics["loss_value_ext"], metrics["loss_policy"]
        if value_loss < DWARFS * max(abs(policy_loss), LEAST_POLICY_LOSS):
            return None
        missing = [] if self.normalize_returns else ["--normalize-returns"]
        missing += ["--trunks separate"] if separate_trunks is False else []
        remedy = (
            f"--preset classic, or {' and '.join(missing)}" if missing else "a smaller --reward-scale or --value-coef"
        )
        return (
            f"the value loss of {value_loss:.3g} is much larger than that of the policy, which may not be learning. "
            f"Try {remedy}"
        )
