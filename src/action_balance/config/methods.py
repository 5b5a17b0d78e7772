"""Methods by name: presets of two bonuses, one that rewards states and one that balances actions."""

from dataclasses import dataclass, field

from action_balance.config.frozen import FrozenDict

#: No bonus.
NONE = "none"

#: Bonuses that can reward the next state (the intrinsic stream), by name; also any ``MODULE:CLASS``.
INTRINSIC_BONUSES = {
    "rnd": "action_balance.bonuses.rnd:RND",
    "count": "action_balance.bonuses.counts:StateCounts",
    "hash": "action_balance.bonuses.hashing:HashedStates",
    "coin-flip": "action_balance.bonuses.coin_flip:CoinFlipStates",
    "icm": "action_balance.bonuses.icm:ICM",
    "ngu": "action_balance.bonuses.ngu:NGU",
    "e3b": "action_balance.bonuses.e3b:E3B",
}

#: Bonuses that can score all actions of a state and so balance the policy (Eq. 5), by name; also any ``MODULE:CLASS``.
ACTION_BONUSES = {
    "distillation": "action_balance.bonuses.distillation:PairDistillation",
    "count": "action_balance.bonuses.counts:PairCounts",
    "hash": "action_balance.bonuses.hashing:HashedPairs",
    "coin-flip": "action_balance.bonuses.coin_flip:CoinFlipPairs",
    "ucb": "action_balance.bonuses.ucb:UCB",
}

#: Bonuses that train no networks.
WITHOUT_NETWORKS = {NONE, "count", "hash"}


@dataclass(frozen=True)
class Method:
    """Which bonus rewards, and which bonus balances."""

    intrinsic: str = NONE
    """Name of the next-state bonus."""
    action_bonus: str = NONE
    """Name of the bonus that balances the policy."""
    uniform: bool = False
    """Act uniformly at random and learn nothing."""
    bonus_settings: FrozenDict = field(default_factory=FrozenDict)
    """Settings of the bonuses that differ from their defaults, by name of the bonus."""


#: The methods of the paper and their baselines.
METHODS: dict[str, Method] = {
    "random": Method(uniform=True),
    # Schulman et al., 2017
    "ppo": Method(),
    # PPO with 1 / sqrt(1 + N(s')), where states can be enumerated
    "count": Method(intrinsic="count"),
    # Burda et al., 2019; the paper's baseline
    "rnd": Method(intrinsic="rnd"),
    # Section III-D of the paper alone, as in its heat maps (Figure 5)
    "action-balance": Method(action_bonus="distillation"),
    # Algorithm 1 of the paper
    "action-balance-rnd": Method(intrinsic="rnd", action_bonus="distillation"),
    # the same with the action channel (Section IV-C)
    "action-balance-rnd-channel": Method(
        intrinsic="rnd",
        action_bonus="distillation",
        bonus_settings=FrozenDict(distillation={"embedding": "channel"}),
    ),
}
