"""Methods by name: presets of two bonuses, one that rewards states and one that balances actions, for any algorithm."""

from dataclasses import dataclass, field
from typing import Literal

from action_balance.config.algorithm import ALGORITHMS, DEFAULT
from action_balance.config.frozen import FrozenDict

#: No bonus.
NONE = "none"

#: Bonuses that can reward the next state (the intrinsic stream), by name; also any ``MODULE:CLASS``.
INTRINSIC_BONUSES = {
    "rnd": "action_balance.bonuses.rnd:RND",
    "count": "action_balance.bonuses.counts:StateCounts",
    "hash": "action_balance.bonuses.hashing:HashedStates",
    "coin-flip": "action_balance.bonuses.coin_flip:CoinFlipStates",
    "elliptical": "action_balance.bonuses.elliptical:EllipticalStates",
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
    "elliptical": "action_balance.bonuses.elliptical:EllipticalPairs",
    "ucb": "action_balance.bonuses.ucb:UCB",
}

#: Bonuses that train no networks of their own; what UCB1 is made of may train some.
WITHOUT_NETWORKS = {NONE, "count", "hash", "elliptical", "ucb"}
#: Bonuses that do not see normalised observations, apart from what UCB1 is made of.
WITHOUT_STATISTICS = {NONE, "count", "ucb"}


#: A coefficient that adapts.
Auto = Literal["auto"]
AUTO: Auto = "auto"


@dataclass(frozen=True)
class Method:
    """Which bonus rewards, which bonus balances, and the settings that differ from the defaults."""

    about: str = field(default="", compare=False)
    algorithm: str | None = None  # the only algorithm that it is for; None for any
    intrinsic: str = NONE  # name of the next-state bonus
    action_bonus: str = NONE  # name of the bonus that balances the policy
    uniform: bool = False  # act uniformly at random and learn nothing
    bonus_settings: FrozenDict = field(default_factory=FrozenDict)  # what differs from the defaults, by bonus
    action_coef: float | Auto | None = None  # c, the weight of the action bonus (Eq. 5); None for the algorithm's
    target_kl: float = 0.05  # KL(beta || pi) that c is adapted to, where it adapts
    entropy_factor: float = 1.0  # what the weight of the entropy is multiplied by, unless it is set
    epsilon: float = 0.0  # probability of a uniformly random action


#: The methods of the paper and their baselines.
METHODS: dict[str, Method] = {
    "random": Method("acts uniformly at random and learns nothing", DEFAULT, uniform=True),
    **{name: Method(f"{name.upper()} without a bonus", name) for name in ALGORITHMS},
    # what action balance is an alternative to: random actions at all times, or a policy that stays random
    "epsilon-greedy": Method("10 % random actions and no bonus", epsilon=0.1),
    "entropy": Method("ten times the preset's entropy weight and no bonus", entropy_factor=10.0),
    # 1 / sqrt(1 + N(s')), and the same with hashes (Tang et al., 2017)
    "count": Method("exact state counts, where states can be enumerated", intrinsic="count"),
    "hash": Method("counts of hashed observations", intrinsic="hash"),
    # the confidence width of linear models over all of training (Jin et al., 2020), as counts of features
    "elliptical": Method("elliptical counts: visits counted by direction, in any observation", intrinsic="elliptical"),
    # Burda et al., 2019
    "rnd": Method("random network distillation, the paper's baseline", intrinsic="rnd"),
    # as in the paper's heat maps (Figure 5)
    "action-balance": Method("action balance alone (Section III-D)", action_bonus="distillation"),
    "action-balance-rnd": Method(
        "action balance with RND: Algorithm 1 of the paper", intrinsic="rnd", action_bonus="distillation"
    ),
    "action-balance-rnd-channel": Method(
        "action balance with RND and the action channel (Section IV-C), for images",
        intrinsic="rnd",
        action_bonus="distillation",
        bonus_settings=FrozenDict(distillation={"embedding": "channel"}),
    ),
    "action-balance-hash": Method(
        "action balance with RND, counts of hashed state-action pairs, and an adaptive coefficient",
        intrinsic="rnd",
        action_bonus="hash",
        action_coef="auto",
    ),
    "action-balance-elliptical": Method(
        "action balance with elliptical counts of states and of state-action pairs, and an adaptive coefficient",
        intrinsic="elliptical",
        action_bonus="elliptical",
        action_coef="auto",
    ),
}
