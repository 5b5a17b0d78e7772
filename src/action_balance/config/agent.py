"""Settings of the neural agent. Nothing here imports JAX."""

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from action_balance.config.bonuses import bonus_parts, default_normalization
from action_balance.config.frozen import FrozenDict
from action_balance.config.methods import ACTION_BONUSES, AUTO, INTRINSIC_BONUSES, METHODS, NONE, Auto, Method
from action_balance.core.options import Normalization
from action_balance.errors import MAX, UserError, check_name, check_numbers, flag

#: Where the intrinsic return can be cut.
Ends = Literal["never", "terminated", "episode"]
#: What a minibatch is drawn from.
MinibatchOf = Literal["environments", "samples"]
#: Whether policy and values share their hidden layers.
Trunks = Literal["shared", "separate"]
#: Nonlinearity of the hidden layers of a policy for vectors.
Activation = Literal["relu", "tanh"]
#: Most environment steps of a seed: whole numbers up to it are also floating-point numbers of 64 bits.
MAX_STEPS = 10**15
#: What a policy remembers of an episode.
Memory = Literal["none", "gru"]
#: Number type of the convolutions.
Precision = Literal["float32", "bfloat16"]


def _given(settings: object, *names: str) -> list[str]:
    """Those of some settings that are set."""
    return [name for name in names if getattr(settings, name) is not None]


@dataclass(frozen=True)
class PPOConfig:
    """PPO with two reward streams; the defaults are those of RND, except for the learning rate."""

    rollout_steps: int = 128
    """Steps in each environment between updates."""
    epochs: int = 4
    """Passes over a rollout per update."""
    minibatches: int = 4
    """Minibatches per epoch. This number must divide the number of environments or, with --minibatch-of samples and
    without memory, the number of samples in a rollout."""
    learning_rate: float = 3e-4
    """Adam learning rate of the policy and the bonus networks; RND used 1e-4."""
    clip: float = 0.1
    """Clipping range of the probability ratio: 1 +- this value."""
    entropy_coef: float | None = None
    """Weight of the entropy of the behaviour policy (default: --entropy-base; ten times that with --method entropy)."""
    entropy_base: float = 0.001
    """Weight of the entropy if --entropy-coef is not given; --method entropy uses ten times this value."""
    epsilon: float | None = None
    """Probability of choosing each component of an action uniformly at random during training (default: 0; 0.1 with
    --method epsilon-greedy)."""
    gamma_ext: float = 0.999
    """Discount factor of the extrinsic reward."""
    gamma_int: float = 0.99
    """Discount factor of the intrinsic reward."""
    gae_lambda: float = 0.95
    """Lambda of generalised advantage estimation, for both reward streams."""
    extrinsic_coef: float = 2.0
    """Weight of the extrinsic advantages."""
    intrinsic_coef: float = 1.0
    """Weight of the intrinsic advantages; if it is 0, the intrinsic value is not learned either."""
    intrinsic_ends: Ends = "never"
    """Where the intrinsic return ends: never (RND), at terminal states, or at the end of every episode."""
    minibatch_of: MinibatchOf = "environments"
    """What a minibatch consists of: all steps of some environments (RND), or samples shuffled across steps and
    environments. With --memory gru, it is always all steps of some environments."""
    learning_rate_end: float | None = None
    """Learning rate after the last update, annealed linearly over the planned updates (default: constant). Extending a
    run stretches the schedule to the new length: the rate rises once, to what the longer run would have had at this
    update, and falls from there."""
    max_grad_norm: float | None = None
    """Maximum L2 norm of the gradient of the policy and value network; larger gradients are scaled down to it (default:
    no clipping). Gradients of the bonus networks are not clipped."""
    value_coef: float = 1.0
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

    def __post_init__(self) -> None:
        check_numbers(self, "rollout_steps", "epochs", "minibatches", low=1, high=MAX)
        check_numbers(self, "learning_rate", "clip", *_given(self, "max_grad_norm"), above=True)
        check_numbers(self, *_given(self, "learning_rate_end"), "value_coef", high=1e6)
        check_name(flag("minibatch_of"), self.minibatch_of, get_args(MinibatchOf))
        check_numbers(self, "gamma_ext", "gamma_int", "gae_lambda", high=1)
        coefs = ("entropy_base", "extrinsic_coef", "intrinsic_coef")
        check_numbers(self, *_given(self, "entropy_coef"), *coefs, high=1e6)
        check_numbers(self, *_given(self, "epsilon"), high=1)
        check_name(flag("intrinsic_ends"), self.intrinsic_ends, get_args(Ends))


#: Where the length of the warm-up depends on that of the run: one rollout per so many updates, and the most rollouts.
UPDATES_PER_WARMUP, MAX_WARMUP = 100, 50

#: Settings of c where it adapts: the limits in their order, and all.
COEF_LIMITS = ("action_coef_min", "action_coef_start", "action_coef_max")
ADAPTS = ("target_kl", *COEF_LIMITS, "action_coef_rate")


@dataclass(frozen=True)
class BonusConfig:
    """Settings that all bonuses share."""

    action_coef: float | Auto | None = None
    """Weight c of the normalised action bonus in the logits (Eq. 5), or auto: c adapts after every rollout to keep
    KL(beta || pi) near --target-kl (default: 1; auto with --method action-balance-hash)."""
    action_coef_end: float | None = None
    """Weight c at the last update, annealed linearly (default: constant)."""
    target_kl: float | None = None
    """With --action-coef auto: target for the mean KL(beta || pi) of a rollout, in nats (default: 0.05)."""
    action_coef_start: float = 3.0
    """With --action-coef auto: c in the first rollout."""
    action_coef_min: float = 0.01
    """With --action-coef auto: lower limit of c."""
    action_coef_max: float = 10.0
    """With --action-coef auto: upper limit of c."""
    action_coef_rate: float = 0.1
    """With --action-coef auto: largest change of log c per rollout."""
    normalize: Normalization | None = None
    """How the vector of action bonuses is normalised: raw, l2 or standard (default: l2; raw for ucb)."""
    update_proportion: float = 1.0
    """Proportion of each environment's samples, chosen at random, that the bonus networks learn from."""
    warmup_rollouts: int | None = 50
    """Rollouts of a random agent that initialise the observation statistics, in addition to --steps; none means one per
    100 planned updates, at most 50."""
    observation_clip: float = 5.0
    """Clipping range of normalised observations: +- this value."""

    def __post_init__(self) -> None:
        if isinstance(self.action_coef, str):
            check_name(flag("action_coef"), self.action_coef, get_args(Auto))
        else:
            check_numbers(self, *_given(self, "action_coef"), high=1e6)
        check_numbers(self, *_given(self, "action_coef_end"), high=1e6)
        check_numbers(self, *_given(self, *ADAPTS), high=1e6, above=True)
        if not self.action_coef_min <= self.action_coef_start <= self.action_coef_max:
            low, start, high = (f"{flag(name)} {getattr(self, name):g}" for name in COEF_LIMITS)
            raise UserError(f"c must start within its limits: choose values with {low} <= {start} <= {high}")
        if self.normalize is not None:
            check_name(flag("normalize"), self.normalize, get_args(Normalization))
        check_numbers(self, "update_proportion", high=1, above=True)
        check_numbers(self, *_given(self, "warmup_rollouts"), high=MAX)
        check_numbers(self, "observation_clip", above=True)


#: Most layers of a network: the time to compile it grows with each.
MAX_LAYERS = 100


@dataclass(frozen=True)
class NetConfig:
    """Networks for vector observations."""

    hidden: int = 64
    """Width of the policy's hidden layers."""
    layers: int = 2
    """Number of hidden layers in the policy's trunk, at most 100."""
    bonus_hidden: int = 128
    """Width of the bonus networks' hidden layers."""
    bonus_outputs: int = 32
    """Outputs of the target and predictor networks."""
    predictor_layers: int = 1
    """Extra layers of a predictor compared with its target, at most 100."""
    trunks: Trunks = "shared"
    """Hidden layers of the policy and the values: one shared trunk with a residual layer for each, or a separate trunk
    for each."""
    activation: Activation = "relu"
    """Nonlinearity of the policy's hidden layers."""

    def __post_init__(self) -> None:
        check_numbers(self, "hidden", "bonus_hidden", "bonus_outputs", low=1, high=MAX)
        check_numbers(self, "layers", low=1, high=MAX_LAYERS)
        check_numbers(self, "predictor_layers", high=MAX_LAYERS)
        check_name(flag("trunks"), self.trunks, get_args(Trunks))
        check_name(flag("activation"), self.activation, get_args(Activation))


@dataclass(frozen=True)
class ImageConfig:
    """Networks for images; the defaults are those of RND (Burda et al., 2019)."""

    channels: int = 32
    """Channels of the first convolution; the second and third have twice as many."""
    small_layers: int = 3
    """Number of convolutions for images that are too small for those of RND, such as MinAtar's 10 x 10 pixels."""
    features: int = 256
    """Width of the policy's first fully connected layer."""
    trunk: int = 448
    """Width of the policy's other layers."""
    bonus_features: int = 512
    """Width of the bonus networks' fully connected layers, and their outputs."""
    precision: Precision = "float32"
    """Floating-point type of the convolutions in the policy and the next-state bonus; bfloat16 is faster on a GPU.
    Later layers, statistics, losses and the action bonus always use float32."""

    def __post_init__(self) -> None:
        check_numbers(self, "channels", "features", "trunk", "bonus_features", low=1, high=MAX)
        check_numbers(self, "small_layers", low=1, high=MAX_LAYERS)
        check_name(flag("precision"), self.precision, get_args(Precision))


@dataclass(frozen=True)
class HostConfig:
    """How environments on the host are stepped."""

    groups: int | None = None
    """Number of groups of environments that take turns: one steps while the agent computes actions for another
    (default: 2; 1 with fewer than 16 environments, or if they step in this process). Results do not depend on this
    setting."""
    lag: int | None = None
    """0: environments wait for each update. 1: they keep stepping with the previous policy during the update (default:
    1 on a GPU, 0 on a CPU)."""
    threads: int = 0
    """Threads per group, for environments that step in threads; 0 for one per core."""

    def __post_init__(self) -> None:
        check_numbers(self, *(["groups"] if self.groups is not None else []), low=1, high=MAX)
        check_numbers(self, *(["lag"] if self.lag is not None else []), high=1)
        check_numbers(self, "threads", high=MAX)


@dataclass(frozen=True)
class AgentConfig:
    """How one agent is trained."""

    method: str = "action-balance-rnd"
    """Exploration method, which selects the bonuses, by its name in `METHODS`."""
    intrinsic: str | None = None
    """Next-state bonus that overrides the method's, by its name in `INTRINSIC_BONUSES` or as MODULE:CLASS."""
    action_bonus: str | None = None
    """Action bonus that overrides the method's, by its name in `ACTION_BONUSES` or as MODULE:CLASS."""
    steps: int = 150_000
    """Environment steps per seed, rounded down to whole updates."""
    envs: int = 8
    """Number of parallel environments."""
    memory: Memory = "none"
    """Recurrent memory of the policy and the values, for environments that show only a part of their state: none, or
    gru, a gated recurrent unit between the hidden layers and the outputs. It is reset at the beginning of every episode
    and learns by backpropagation through a rollout. The bonus networks never see it."""
    memory_units: int = 128
    """Units of the recurrent memory."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    bonus: BonusConfig = field(default_factory=BonusConfig)
    bonus_settings: FrozenDict = field(default_factory=FrozenDict)
    """Settings of individual bonuses, by name of the bonus."""
    net: NetConfig = field(default_factory=NetConfig)
    image: ImageConfig = field(default_factory=ImageConfig)
    host: HostConfig = field(default_factory=HostConfig)
    preset: str | None = field(default=None, compare=False)
    """Name of the preset that these settings started from; informational only."""

    def __post_init__(self) -> None:
        check_name("method", self.method, METHODS)
        for name, chosen, known in (
            ("intrinsic", self.intrinsic, INTRINSIC_BONUSES),
            ("action_bonus", self.action_bonus, ACTION_BONUSES),
        ):
            if chosen is not None and ":" not in chosen:
                check_name(flag(name), chosen, (NONE, *known))
        check_name(flag("memory"), self.memory, get_args(Memory))
        check_numbers(self, "steps", low=1, high=MAX_STEPS)
        check_numbers(self, "envs", "memory_units", low=1, high=MAX)
        divided = self.steps_per_update if self.minibatch_of == "samples" else self.envs
        if divided % self.ppo.minibatches:
            raise UserError(
                f"{self.ppo.minibatches} minibatches do not divide {divided} {self.minibatch_of}: change "
                f"--minibatches or --envs"
            )
        if self.host.groups is not None and self.envs % self.host.groups:
            raise UserError(
                f"{self.envs} environments cannot be split into {self.host.groups} equal groups: change --groups or "
                f"--envs"
            )
        if self.steps < self.steps_per_update:
            raise UserError(
                f"{self.steps} steps are fewer than one rollout of {self.envs} environments x "
                f"{self.ppo.rollout_steps} steps: use --steps {self.steps_per_update} or more"
            )
        self._check_products()
        if unused := self.bonus_settings.keys() - set(self.bonus_names):
            raise UserError(f"{self.label} does not use the bonus {min(unused)}: remove its settings")
        for name in () if self.balances else ("action_coef", "action_coef_end", "normalize", *ADAPTS):
            self._check_default(name, f"{self.label} has no action bonus")
        for name in () if self.adapts else ADAPTS:
            self._check_default(name, f"{flag(name)} needs --action-coef auto")
        for name in ("action_coef_end",) if self.adapts else ():
            self._check_default(name, "--action-coef auto cannot be combined with a schedule")
        if self.adapts and self.epsilon:
            raise UserError("--action-coef auto and --epsilon both change KL(beta || pi): choose one of them")
        for name in _given(self.ppo, "epsilon", "entropy_coef") if self.uniform else ():
            raise UserError(f"{self.label} acts at random and does not learn: leave out {flag(name)}")
        if self.uniform and self.recurrent_units:
            raise UserError(f"{self.label} acts at random and does not learn: leave out --memory")

    def _check_products(self) -> None:
        """Raise a `UserError` if updates or minibatches cannot be counted in 32 bits."""
        ppo = self.ppo
        if self.updates > MAX:
            raise UserError(
                f"--steps {self.steps} takes {self.updates} updates of {self.steps_per_update} steps, but a run has at "
                f"most {MAX} updates: use more --envs or --rollout-steps"
            )
        for one, first, other, second in (
            ("warmup_rollouts", self.warmup_rollouts, "rollout_steps", ppo.rollout_steps),
            ("epochs", ppo.epochs, "minibatches", ppo.minibatches),
        ):
            if first * second > MAX:
                raise UserError(f"{flag(one)} {first} times {flag(other)} {second} must be at most {MAX}")

    def _check_default(self, name: str, why: str) -> None:
        default = getattr(BonusConfig, name)
        if getattr(self.bonus, name) != default:
            raise UserError(f"{why}: leave out {flag(name)}, or set it to {'none' if default is None else default}")

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
        """Rollouts of a random agent before the first update: as set, or one per 100 updates, at most 50."""
        set_to = self.bonus.warmup_rollouts
        return min(MAX_WARMUP, -(-self.updates // UPDATES_PER_WARMUP)) if set_to is None else set_to

    @property
    def updates(self) -> int:
        """Updates of the whole training, one per rollout."""
        return self.steps // self.steps_per_update
