"""Settings of the neural agent. Nothing here imports JAX."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

from action_balance.config.bonuses import bonus_parts, default_normalization
from action_balance.config.fields import Settings, count, known, number
from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import (
    ACTION_BONUSES,
    AUTO,
    INTRINSIC_BONUSES,
    METHODS,
    NONE,
    WITHOUT_STATISTICS,
    Auto,
    Method,
)
from action_balance.core.options import Normalization
from action_balance.errors import MAX, UserError, flag

Ends = Literal["never", "terminated", "episode"]  # where the intrinsic return can be cut
MinibatchOf = Literal["environments", "samples"]  # what a minibatch is drawn from
Trunks = Literal["shared", "separate"]  # whether policy and values share their hidden layers
Activation = Literal["relu", "tanh"]  # nonlinearity of the hidden layers of a policy for vectors
Memory = Literal["none", "gru"]  # what a policy remembers of an episode
Precision = Literal["float32", "bfloat16"]  # number type of the convolutions
#: Named settings of an agent, in `config.presets`.
Preset = Literal["classic", "vectorized", "study", "chains", "rooms", "atari-paper", "atari-rnd"]
#: Most environment steps of a seed: whole numbers up to it are also floating-point numbers of 64 bits.
MAX_STEPS = 10**15
MAX_LAYERS = 100  # most layers of a network: the time to compile it grows with each
MAX_COEF = 1e6  # largest weight of a term


@dataclass(frozen=True)
class PPOConfig(Settings):
    """PPO with two reward streams; without a preset, the settings of RND, except for the learning rate."""

    rollout_steps: int = count(128)
    """Steps in each environment between updates."""
    epochs: int = count(4)
    """Passes over a rollout per update."""
    minibatches: int = count(4)
    """Minibatches per epoch. This number must divide the number of environments or, with --minibatch-of samples and
    without memory, the number of samples in a rollout."""
    learning_rate: float = number(3e-4, above=True)
    """Adam learning rate of the policy and the bonus networks; RND used 1e-4."""
    clip: float = number(0.1, above=True)
    """Clipping range of the probability ratio: 1 +- this value."""
    entropy_coef: float | None = number(None, high=MAX_COEF)
    """Weight of the entropy of the behaviour policy (default: --entropy-base; ten times that with --method entropy)."""
    entropy_base: float = number(0.001, high=MAX_COEF)
    """Weight of the entropy if --entropy-coef is not given; --method entropy uses ten times this value."""
    epsilon: float | None = number(None, high=1)
    """Probability of choosing each component of an action uniformly at random during training (default: 0; 0.1 with
    --method epsilon-greedy)."""
    gamma_ext: float = number(0.999, high=1)
    """Discount factor of the extrinsic reward."""
    gamma_int: float = number(0.99, high=1)
    """Discount factor of the intrinsic reward."""
    gae_lambda: float = number(0.95, high=1)
    """Lambda of generalised advantage estimation, for both reward streams."""
    extrinsic_coef: float = number(2.0, high=MAX_COEF)
    """Weight of the extrinsic advantages."""
    intrinsic_coef: float = number(1.0, high=MAX_COEF)
    """Weight of the intrinsic advantages; if it is 0, the intrinsic value is not learned either."""
    intrinsic_ends: Ends = "never"
    """Where the intrinsic return ends: never (RND), at terminal states, or at the end of every episode."""
    minibatch_of: MinibatchOf = "environments"
    """What a minibatch consists of: all steps of some environments (RND), or samples shuffled across steps and
    environments. With --memory gru, it is always all steps of some environments."""
    learning_rate_end: float | None = number(None, high=MAX_COEF)
    """Learning rate after the last update, annealed linearly over the planned updates (default: constant). Extending a
    run stretches the schedule to the new length: the rate rises once, to what the longer run would have had at this
    update, and falls from there."""
    max_grad_norm: float | None = number(None, above=True)
    """Maximum L2 norm of the gradient of the policy and value network; larger gradients are scaled down to it (default:
    no clipping). Gradients of the bonus networks are not clipped."""
    value_coef: float = number(1.0, high=MAX_COEF)
    """Weight of the value loss, which is half the squared error."""
    normalize_advantages: bool = False
    """Standardise the advantages of every minibatch to mean 0 and standard deviation 1."""
    normalize_returns: bool = False
    """Divide extrinsic rewards by the running standard deviation of the discounted return, so that values do not depend
    on the scale of the reward. Reported returns are not rescaled."""
    bootstrap_truncation: bool = False
    """At a time limit, bootstrap the return from the value of the final observation, as if the episode continued. This
    applies to the extrinsic return and, with --intrinsic-ends episode, to the intrinsic return. Without this flag, a
    time limit counts as a terminal state (RND)."""


#: The steps of the warm-up by default, after which normalised observations are within about 5 % of what they become
#: (docs/protocol.md); but at most one of so many rollouts, and none in a run of fewer rollouts than the last number.
WARMUP_STEPS, ROLLOUTS_PER_WARMUP, LEAST_ROLLOUTS = 8192, 20, 10

#: Settings of c where it adapts: the limits in their order, and all; and those of every action bonus.
COEF_LIMITS = ("action_coef_min", "action_coef_start", "action_coef_max")
ADAPTS = ("target_kl", *COEF_LIMITS, "action_coef_rate")
OF_ACTION_BONUS = ("action_coef", "action_coef_end", "normalize", *ADAPTS)


@dataclass(frozen=True)
class BonusConfig(Settings):
    """Settings that all bonuses share."""

    action_coef: float | Auto | None = number(None, high=MAX_COEF)
    """Weight c of the normalised action bonus in the logits (Eq. 5), or auto: c adapts after every rollout to keep
    KL(beta || pi) near --target-kl (default: that of the preset, or 1; auto with --method
    action-balance-hash and action-balance-elliptical)."""
    action_coef_end: float | None = number(None, high=MAX_COEF)
    """Weight c at the last update, annealed linearly (default: constant)."""
    target_kl: float | None = number(None, high=MAX_COEF, above=True)
    """With --action-coef auto: target for the mean KL(beta || pi) of a rollout, in nats (default: 0.05)."""
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


@dataclass(frozen=True)
class NetConfig(Settings):
    """Networks for vector observations."""

    hidden: int = count(64)
    """Width of the policy's hidden layers."""
    layers: int = count(2, MAX_LAYERS)
    """Number of hidden layers in the policy's trunk."""
    bonus_hidden: int = count(128)
    """Width of the bonus networks' hidden layers."""
    bonus_outputs: int = count(32)
    """Outputs of the target and predictor networks."""
    predictor_layers: int = number(1, high=MAX_LAYERS)
    """Extra layers of a predictor compared with its target."""
    trunks: Trunks = "shared"
    """Hidden layers of the policy and the values: one shared trunk with a residual layer for each, or a separate trunk
    for each."""
    activation: Activation = "relu"
    """Nonlinearity of the policy's hidden layers."""


@dataclass(frozen=True)
class ImageConfig(Settings):
    """Networks for images; the defaults are those of RND (Burda et al., 2019)."""

    channels: int = count(32)
    """Channels of the first convolution; the second and third have twice as many."""
    small_layers: int = count(3, MAX_LAYERS)
    """Number of convolutions for images that are too small for those of RND, such as MinAtar's 10 x 10 pixels."""
    features: int = count(256)
    """Width of the policy's first fully connected layer."""
    trunk: int = count(448)
    """Width of the policy's other layers."""
    bonus_features: int = count(512)
    """Width of the bonus networks' fully connected layers, and their outputs."""
    precision: Precision = "float32"
    """Floating-point type of the convolutions in the policy and the next-state bonus; bfloat16 is faster on a GPU.
    Later layers, statistics, losses and the action bonus always use float32."""


@dataclass(frozen=True)
class HostConfig(Settings):
    """How environments on the host are stepped."""

    groups: int | None = count(None)
    """Number of groups of environments that take turns: one steps while the agent computes actions for another
    (default: 2; 1 with fewer than 16 environments, or if they step in this process). Results do not depend on this
    setting."""
    lag: int | None = number(None, high=1)
    """0: environments wait for each update. 1: they keep stepping with the previous policy during the update (default:
    1 on a GPU, 0 on a CPU)."""
    threads: int = number(0, high=MAX)
    """Threads per group, for environments that step in threads; 0 for one per core."""


@dataclass(frozen=True)
class AgentConfig(Settings):
    """How one agent is trained."""

    method: str = known("action-balance-rnd", METHODS)
    """Exploration method, which selects the bonuses."""
    intrinsic: str | None = known(None, (NONE, *INTRINSIC_BONUSES), own=True)
    """Next-state bonus, overriding the method's."""
    action_bonus: str | None = known(None, (NONE, *ACTION_BONUSES), own=True)
    """Action bonus, overriding the method's."""
    steps: int = count(150_000, MAX_STEPS)
    """Environment steps per seed, those of the warm-up included, rounded down to whole rollouts."""
    envs: int = count(8)
    """Number of parallel environments."""
    memory: Memory = "none"
    """Recurrent memory of the policy and the values, for environments that show only a part of their state: none, or
    gru, a gated recurrent unit between the hidden layers and the outputs. It is reset at the beginning of every episode
    and learns by backpropagation through a rollout. The bonus networks never see it."""
    memory_units: int = count(128)
    """Units of the recurrent memory."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    bonus: BonusConfig = field(default_factory=BonusConfig)
    bonus_settings: FrozenDict = field(default_factory=FrozenDict)
    """Settings of individual bonuses, by name of the bonus."""
    net: NetConfig = field(default_factory=NetConfig)
    image: ImageConfig = field(default_factory=ImageConfig)
    host: HostConfig = field(default_factory=HostConfig)
    preset: Preset | None = field(default=None, compare=False)
    """Named settings to start from, which flags override."""

    def __post_init__(self) -> None:
        super().__post_init__()
        divided = self.steps_per_update if self.minibatch_of == "samples" else self.envs
        if divided % self.ppo.minibatches:
            what = f"{self.ppo.minibatches} minibatches do not divide {divided} {self.minibatch_of}"
            raise UserError(f"{what}: change --minibatches or --envs")
        if self.host.groups is not None and self.envs % self.host.groups:
            what = f"{self.envs} environments cannot be split into {self.host.groups} equal groups"
            raise UserError(f"{what}: change --groups or --envs")
        if self.steps < self.steps_per_update:
            rollout = f"one rollout of {self.envs} environments x {self.ppo.rollout_steps} steps"
            least = f"use --steps {self.steps_per_update} or more"
            raise UserError(f"{self.steps} steps are fewer than {rollout}: {least}")
        self._check_products()
        if self.updates < 1:
            raise UserError(
                f"the warm-up of {self.warmup_rollouts} rollouts leaves nothing of {self.steps} steps to learn from: "
                f"use --steps {self.steps_at(1)} or more, or fewer --warmup-rollouts"
            )
        self._check_unused()

    def _check_products(self) -> None:
        """Raise a `UserError` if updates or minibatches cannot be counted in 32 bits."""
        if self.updates > MAX:
            raise UserError(
                f"--steps {self.steps} takes {self.updates} updates of {self.steps_per_update} steps, but a run has at "
                f"most {MAX} updates: use more --envs or --rollout-steps"
            )
        for one, first, other, second in (
            ("warmup_rollouts", self.warmup_rollouts, "rollout_steps", self.ppo.rollout_steps),
            ("epochs", self.ppo.epochs, "minibatches", self.ppo.minibatches),
        ):
            if first * second > MAX:
                raise UserError(f"{flag(one)} {first} times {flag(other)} {second} must be at most {MAX}")

    def _check_unused(self) -> None:
        """Raise a `UserError` for a setting that has no effect with these bonuses."""
        if unused := self.bonus_settings.keys() - set(self.bonus_names):
            raise UserError(f"{self.label} does not use the bonus {min(unused)}: remove its settings")
        why = {"action_coef_end": "--action-coef auto cannot be combined with a schedule"} if self.adapts else {}
        if not self.adapts:
            why = {name: f"{flag(name)} needs --action-coef auto" for name in ADAPTS}
        if not self.balances:
            why = dict.fromkeys(OF_ACTION_BONUS, f"{self.label} has no action bonus")
        for name, reason in why.items():
            default = getattr(BonusConfig, name)
            if getattr(self.bonus, name) != default:
                other = "none" if default is None else default
                raise UserError(f"{reason}: leave out {flag(name)}, or set it to {other}")
        if self.adapts and self.epsilon:
            raise UserError("--action-coef auto and --epsilon both change KL(beta || pi): choose one of them")
        given = {
            "epsilon": self.ppo.epsilon,
            "entropy_coef": self.ppo.entropy_coef,
            "memory": self.recurrent_units or None,
        }
        for name, value in given.items() if self.uniform else ():
            if value is not None:
                raise UserError(f"{self.label} acts at random and does not learn: leave out {flag(name)}")

    def policy_only(self) -> "AgentConfig":
        """The settings of an agent that has learned and only acts: no bonus rewards it or balances it."""
        return replace(
            self,
            method="random" if self.uniform else "ppo",
            intrinsic=None,
            action_bonus=None,
            bonus=replace(self.bonus, **{name: getattr(BonusConfig, name) for name in OF_ACTION_BONUS}),
            bonus_settings=FrozenDict(),
            ppo=replace(self.ppo, epsilon=None, entropy_coef=None, entropy_base=PPOConfig.entropy_base),
        )

    @property
    def method_settings(self) -> Method:
        """The bonuses that the method stands for, and its other settings."""
        return METHODS[self.method]

    @property
    def intrinsic_name(self) -> str:
        """Name of the next-state bonus, or none."""
        return self.method_settings.intrinsic if self.intrinsic is None else self.intrinsic

    @property
    def action_bonus_name(self) -> str:
        """Name of the bonus that balances the policy, or none."""
        return self.method_settings.action_bonus if self.action_bonus is None else self.action_bonus

    @property
    def bonus_names(self) -> tuple[str, ...]:
        """Names of the bonuses in use, with those that they are made of."""
        names = [self.intrinsic_name, self.action_bonus_name]
        parts = [part for name in names for part in bonus_parts(name, self.settings_of(name))]
        return tuple(dict.fromkeys([*names, *parts]))

    @property
    def label(self) -> str:
        """The name of the method with these bonuses, or both bonuses where there is none.

        A method that changes more than bonuses, such as epsilon-greedy, is named as well.
        """
        own = replace(self.method_settings, intrinsic=self.intrinsic_name, action_bonus=self.action_bonus_name)
        for name in (self.method, *METHODS):
            if METHODS[name] == own:
                return name
        pair = f"{self.intrinsic_name}+{self.action_bonus_name}"
        return pair if replace(own, intrinsic=NONE, action_bonus=NONE) == Method() else f"{self.method} with {pair}"

    @property
    def uniform(self) -> bool:
        """Whether the agent acts uniformly at random and learns nothing."""
        return self.method_settings.uniform

    @property
    def balances(self) -> bool:
        """Whether an action bonus balances the policy (Eq. 5)."""
        return self.action_bonus_name != NONE

    @property
    def action_coef(self) -> float | Auto:
        """c of Eq. 5, or that it adapts: as set, or the method's."""
        return self.method_settings.action_coef if self.bonus.action_coef is None else self.bonus.action_coef

    @property
    def normalize(self) -> Normalization:
        """How the action bonus is normalised: as set, or the default of the bonus."""
        return self.bonus.normalize or default_normalization(self.action_bonus_name)

    @property
    def adapts(self) -> bool:
        """Whether c of Eq. 5 adapts."""
        return self.balances and self.action_coef == AUTO

    @property
    def target_kl(self) -> float:
        """KL(beta || pi) that c is adapted to: as set, or the method's."""
        return self.method_settings.target_kl if self.bonus.target_kl is None else self.bonus.target_kl

    @property
    def entropy_coef(self) -> float:
        """Weight of the entropy: as set, or the method's multiple of the base."""
        base, factor = self.ppo.entropy_base, self.method_settings.entropy_factor
        return base * factor if self.ppo.entropy_coef is None else self.ppo.entropy_coef

    @property
    def epsilon(self) -> float:
        """Probability of a random action: as set, or the method's."""
        return self.method_settings.epsilon if self.ppo.epsilon is None else self.ppo.epsilon

    @property
    def beta_differs(self) -> bool:
        """Whether the behaviour policy beta is another one than pi."""
        return self.balances or self.epsilon > 0

    def settings_of(self, bonus: str) -> FrozenDict:
        """Settings of one bonus that differ from its defaults: the method's, then those of the config."""
        return FrozenDict({**self.method_settings.bonus_settings.get(bonus, {}), **self.bonus_settings.get(bonus, {})})

    @property
    def groups(self) -> int:
        """Groups of environments on the host: as set, or the default."""
        if self.host.groups is not None:
            return self.host.groups
        return 2 if self.envs % 2 == 0 and self.envs >= 16 else 1

    @property
    def recurrent_units(self) -> int:
        """Units of the policy's memory; 0 without one."""
        return 0 if self.memory == NONE else self.memory_units

    @property
    def minibatch_of(self) -> MinibatchOf:
        """What a minibatch consists of: as set, but a memory learns from all steps of some environments."""
        return "environments" if self.recurrent_units else self.ppo.minibatch_of

    @property
    def intrinsic_coef(self) -> float:
        """Weight of the intrinsic stream: 0 without a next-state bonus."""
        return self.ppo.intrinsic_coef if self.intrinsic_name != NONE else 0.0

    @property
    def steps_per_update(self) -> int:
        """Environment steps of a rollout."""
        return self.envs * self.ppo.rollout_steps

    @property
    def warmup_rollouts(self) -> int:
        """Rollouts of a random agent before the first update, as set or by default; 0 where no bonus has statistics."""
        if self.uniform or {*self.bonus_names} <= WITHOUT_STATISTICS:
            return 0
        if self.bonus.warmup_rollouts is not None:
            return self.bonus.warmup_rollouts
        needed, share = -(-WARMUP_STEPS // self.steps_per_update), -(-self.rollouts // ROLLOUTS_PER_WARMUP)
        return min(needed, share) if self.rollouts >= LEAST_ROLLOUTS else 0

    @property
    def rollouts(self) -> int:
        """Rollouts of the whole run, those of the warm-up included."""
        return self.steps // self.steps_per_update

    @property
    def updates(self) -> int:
        """Updates of the whole training, one per rollout after the warm-up."""
        return self.rollouts - self.warmup_rollouts

    def steps_at(self, update: Any) -> Any:
        """Environment steps of a seed until the end of an update, or of an array of updates."""
        return (self.warmup_rollouts + update) * self.steps_per_update
