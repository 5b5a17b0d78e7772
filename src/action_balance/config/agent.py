"""Everything that can be set about the neural agent. A method is a setting, not a class."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from action_balance.core.balance import Normalization
from action_balance.errors import MOST, UserError, check_name, check_numbers, flag

#: Where the intrinsic stream can be cut.
Ends = Literal["never", "terminated", "episode"]
#: What the action predictor can learn from.
LearnsFrom = Literal["taken", "all"]
#: What an action is to the networks of a pair: a vector at every fully connected layer, or an image (Eq. 3).
Embedding = Literal["one-hot", "channel"]
#: What convolutions are computed in.
Precision = Literal["float32", "bfloat16"]


class Method(NamedTuple):
    """What makes a method."""

    uniform: bool
    """Act at random and learn nothing."""
    next_state: Literal["none", "rnd", "count"]
    """Bonus of the state that was reached: none, the error of Eq. 1, or 1 / sqrt(1 + N(s'))."""
    action: bool
    """Whether the policy is balanced by the action bonus of Eq. 2."""
    embedding: Embedding = "one-hot"
    """How the networks of the action bonus see an action; the channel is for images."""


#: The methods by name.
METHODS: dict[str, Method] = {
    "random": Method(uniform=True, next_state="none", action=False),
    # Schulman et al., 2017
    "ppo": Method(uniform=False, next_state="none", action=False),
    # PPO with the count that RND estimates, where states can be counted
    "count": Method(uniform=False, next_state="count", action=False),
    # Burda et al., 2019; the paper's baseline
    "rnd": Method(uniform=False, next_state="rnd", action=False),
    # the paper's Section III-D alone, as in its heat maps (Figure 5)
    "action-balance": Method(uniform=False, next_state="none", action=True),
    # the paper's Algorithm 1
    "action-balance-rnd": Method(uniform=False, next_state="rnd", action=True),
    # the same with the action channel (Section IV-C)
    "action-balance-rnd-channel": Method(uniform=False, next_state="rnd", action=True, embedding="channel"),
}


@dataclass(frozen=True)
class PPOConfig:
    """Policy optimisation with two reward streams; the defaults are RND's but for the learning rate."""

    rollout_steps: int = 128
    """Steps of every environment between two updates."""
    epochs: int = 4
    """Passes over a rollout."""
    minibatches: int = 4
    """Parts of a pass: slices of environments, whose number they must divide."""
    learning_rate: float = 3e-4
    """Of Adam, constant, for the policy and both predictors (RND on Atari: 1e-4)."""
    clip: float = 0.1
    """The policy ratio is clipped to 1 +- this."""
    entropy_coef: float = 0.001
    """Weight of the entropy of the behaviour policy."""
    gamma_ext: float = 0.999
    """Discount of the reward."""
    gamma_int: float = 0.99
    """Discount of the next-state bonus."""
    gae_lambda: float = 0.95
    """Decay of both advantage estimates."""
    extrinsic_coef: float = 2.0
    """Weight of the reward's advantages."""
    intrinsic_coef: float = 1.0
    """Weight of the next-state bonus's advantages; with 0 its value is not learned either."""
    intrinsic_ends: Ends = "never"
    """Where the intrinsic stream is cut: never (RND), where a task ends, or where any episode does."""

    def __post_init__(self) -> None:
        check_numbers(self, "rollout_steps", "epochs", "minibatches", low=1, high=MOST)
        check_numbers(self, "learning_rate", "clip", above=True)
        check_numbers(self, "gamma_ext", "gamma_int", "gae_lambda", high=1)
        check_numbers(self, "entropy_coef", "extrinsic_coef", "intrinsic_coef", high=1e6)
        check_name(flag("intrinsic_ends"), self.intrinsic_ends, get_args(Ends))


@dataclass(frozen=True)
class BonusConfig:
    """Both distillation modules."""

    action_coef: float = 1.0
    """c, the weight of the normalised action bonus in the logits (Eq. 5)."""
    action_coef_end: float | None = None
    """c at the last update, approached linearly; without it, c is constant."""
    normalize: Normalization = "l2"
    """How the bonus vector is normalised: raw, l2 or standard."""
    learns_from: LearnsFrom = "taken"
    """What the action predictor learns from: the action taken (paper), or all (authors' program)."""
    share: float = 1.0
    """Random share of each environment's samples that predictors learn from."""
    warmup_rollouts: int = 50
    """Rollouts of a random agent that begin the statistics of observations."""
    observation_clip: float = 5.0
    """Normalised observations are clipped to +- this."""

    def __post_init__(self) -> None:
        check_numbers(self, "action_coef", *(["action_coef_end"] if self.action_coef_end is not None else []), high=1e6)
        check_name(flag("normalize"), self.normalize, get_args(Normalization))
        check_name(flag("learns_from"), self.learns_from, get_args(LearnsFrom))
        check_numbers(self, "share", high=1, above=True)
        check_numbers(self, "warmup_rollouts", high=MOST)
        check_numbers(self, "observation_clip", above=True)


@dataclass(frozen=True)
class NetConfig:
    """Sizes of the networks for vectors."""

    hidden: int = 64
    """Width of the policy's layers."""
    layers: int = 2
    """Layers of the policy's trunk."""
    bonus_hidden: int = 128
    """Width of the bonus networks' layers."""
    bonus_outputs: int = 32
    """Outputs of target and predictor."""
    predictor_layers: int = 1
    """Layers that a predictor has more than its target."""

    def __post_init__(self) -> None:
        check_numbers(self, "hidden", "layers", "bonus_hidden", "bonus_outputs", low=1, high=MOST)
        check_numbers(self, "predictor_layers", high=MOST)


@dataclass(frozen=True)
class ImageConfig:
    """Sizes of the networks for images; the defaults are RND's (Burda et al., 2019)."""

    channels: int = 32
    """Channels of the first convolution; the second and third have twice as many."""
    features: int = 256
    """Width of the policy's first fully connected layer."""
    trunk: int = 448
    """Width of the policy's other layers."""
    bonus_features: int = 512
    """Width of the bonus networks' fully connected layers, and their outputs."""
    precision: Precision = "float32"
    """What the convolutions of the policy and of the next-state bonus are computed in; bfloat16 is faster on a GPU.
    What is after them, statistics, losses and the action bonus, whose actions differ by less, are float32."""

    def __post_init__(self) -> None:
        check_numbers(self, "channels", "features", "trunk", "bonus_features", low=1, high=MOST)
        check_name(flag("precision"), self.precision, get_args(Precision))


@dataclass(frozen=True)
class HostConfig:
    """How environments that run on the host are stepped."""

    groups: int | None = None
    """Parts that step in turn: one is emulated while the agent thinks about another; usual: 2, or 1 where
    there are fewer than 16 environments, or those of Gymnasium in this process. It does not change what an
    environment sees."""
    lag: int | None = None
    """0: emulators wait for each update. 1: they go on meanwhile, with the policy before it; usual on a GPU."""
    threads: int = 0
    """Threads of the emulators of each group; 0 for one per core."""

    def __post_init__(self) -> None:
        check_numbers(self, *(["groups"] if self.groups is not None else []), low=1, high=MOST)
        check_numbers(self, *(["lag"] if self.lag is not None else []), high=1)
        check_numbers(self, "threads", high=MOST)


@dataclass(frozen=True)
class Config:
    """How one agent is trained."""

    method: str = "action-balance-rnd"
    """random, ppo, count, rnd, action-balance, action-balance-rnd or, for images, action-balance-rnd-channel."""
    steps: int = 150_000
    """Environment steps of each seed; rounded down to whole updates."""
    envs: int = 8
    """Environments that step together."""
    ppo: PPOConfig = field(default_factory=PPOConfig)
    bonus: BonusConfig = field(default_factory=BonusConfig)
    net: NetConfig = field(default_factory=NetConfig)
    image: ImageConfig = field(default_factory=ImageConfig)
    host: HostConfig = field(default_factory=HostConfig)

    def __post_init__(self) -> None:
        check_name("method", self.method, METHODS)
        check_numbers(self, "steps", "envs", low=1, high=MOST)
        if self.envs % self.ppo.minibatches:
            raise UserError(
                f"{self.ppo.minibatches} minibatches do not divide {self.envs} environments: "
                f"choose --minibatches or --envs so that they do"
            )
        if self.host.groups is not None and self.envs % self.host.groups:
            raise UserError(
                f"{self.envs} environments cannot be split into {self.host.groups} equal groups: "
                f"choose --groups or --envs so that they can"
            )
        if self.steps < self.steps_per_update:
            raise UserError(
                f"{self.steps} steps are less than one rollout of {self.envs} environments x "
                f"{self.ppo.rollout_steps} steps: ask for --steps {self.steps_per_update} or more"
            )
        for name in () if self.traits.action else ("action_coef", "action_coef_end", "normalize", "learns_from"):
            usual = getattr(BonusConfig, name)
            if getattr(self.bonus, name) != usual:
                raise UserError(
                    f"method {self.method} has no action bonus: leave out {flag(name)}, or set it back to {usual}"
                )

    @property
    def traits(self) -> Method:
        """What makes the method."""
        return METHODS[self.method]

    @property
    def groups(self) -> int:
        """Groups of environments on the host, asked for or usual."""
        if self.host.groups is not None:
            return self.host.groups
        return 2 if self.envs % 2 == 0 and self.envs >= 16 else 1

    @property
    def intrinsic_coef(self) -> float:
        """Weight of the intrinsic stream: none where there is no next-state bonus."""
        return self.ppo.intrinsic_coef if self.traits.next_state != "none" else 0.0

    @property
    def steps_per_update(self) -> int:
        """Environment steps of a rollout."""
        return self.envs * self.ppo.rollout_steps

    @property
    def updates(self) -> int:
        """Rollouts, and updates, of the whole training."""
        return self.steps // self.steps_per_update
