"""Settings that all bonuses share, and of random actions. Nothing here imports JAX."""

from dataclasses import dataclass

from action_balance.config.algorithm import MAX_COEF
from action_balance.config.fields import Settings, number
from action_balance.config.methods import Auto
from action_balance.core.options import Normalization
from action_balance.errors import MAX, UserError, flag

#: The steps of the warm-up by default, after which normalised observations are within about 5 % of what they become
#: (docs/protocol.md); but at most one of so many rollouts, and none in a run of fewer rollouts than the last number.
WARMUP_STEPS, ROLLOUTS_PER_WARMUP, LEAST_ROLLOUTS = 8192, 20, 10

#: Settings of c where it adapts: the limits in their order, and all; and those of every action bonus.
COEF_LIMITS = ("action_coef_min", "action_coef_start", "action_coef_max")
ADAPTS = ("target_kl", *COEF_LIMITS, "action_coef_rate")
OF_ACTION_BONUS = ("action_coef", "action_coef_end", "normalize", "candidates", *ADAPTS)
#: Settings of random actions.
OF_EPSILON = ("epsilon", "epsilon_end", "epsilon_decay", "epsilon_spread")


@dataclass(frozen=True)
class ExplorationConfig(Settings):
    """What the two bonuses share with every algorithm, and random actions."""

    action_coef: float | Auto | None = number(None, high=MAX_COEF)
    """Weight c of the normalised action bonus in the logits or Q-values (Eq. 5), or auto: c adapts after every rollout
    to keep beta as far from pi as --target-kl (default: that of the preset, or 1, or 0.1 with pqn; auto with --method
    action-balance-hash and action-balance-elliptical)."""
    action_coef_end: float | None = number(None, high=MAX_COEF)
    """Weight c at the last update, annealed linearly (default: constant)."""
    target_kl: float | None = number(None, high=MAX_COEF, above=True)
    """With --action-coef auto: target for the mean distance of a rollout, KL(beta || pi) in nats, or with pqn the total
    variation (default: 0.05)."""
    action_coef_start: float = number(3.0, high=MAX_COEF, above=True)
    """With --action-coef auto: c in the first rollout."""
    action_coef_min: float = number(0.01, high=MAX_COEF, above=True)
    """With --action-coef auto: lower limit of c."""
    action_coef_max: float = number(10.0, high=MAX_COEF, above=True)
    """With --action-coef auto: upper limit of c."""
    action_coef_rate: float = number(0.1, high=MAX_COEF, above=True)
    """With --action-coef auto: largest change of log c per rollout."""
    normalize: Normalization | None = None
    """How the vector of action bonuses is normalised: raw, l2 or standard (default: that of the preset, or l2; raw
    for ucb)."""
    candidates: int = number(16, 2, 4096)
    """For continuous actions: K, the number of actions that are drawn from the policy, of which the action bonus
    selects one (Eq. 5 by candidates)."""
    epsilon: float | None = number(None, high=1)
    """Probability of choosing each component of an action uniformly at random during training (default: that of the
    algorithm; 0.1 with --method epsilon-greedy)."""
    epsilon_end: float | None = number(None, high=1)
    """This probability at the end of its schedule, annealed linearly (default: constant)."""
    epsilon_decay: float = number(1.0, high=1, above=True)
    """With --epsilon-end: share of the updates over which the probability changes."""
    epsilon_spread: bool = False
    """Spread the probability over the environments: from 0 in the first to its value in the last, in equal steps."""
    update_proportion: float = number(1.0, high=1, above=True)
    """Proportion of each environment's samples, chosen at random, that the bonus networks learn from."""
    warmup_rollouts: int | None = number(None, high=MAX)
    """Rollouts of a random agent that initialise the observation statistics of bonuses; they are the first of --steps
    (default: 8,192 steps, but at most one rollout in 20; none in a run of fewer than 10)."""
    observation_clip: float = number(5.0, above=True)
    """Clipping range of normalised observations: +- this value."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.action_coef_min <= self.action_coef_start <= self.action_coef_max:
            low, start, high = (f"{flag(name)} {getattr(self, name):g}" for name in COEF_LIMITS)
            raise UserError(f"c must start within its limits: choose values with {low} <= {start} <= {high}")
