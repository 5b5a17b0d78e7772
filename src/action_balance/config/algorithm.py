"""What every algorithm is set by, and where each is: `action_balance.algorithms` has a folder for each. Nothing here
imports JAX."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from action_balance.config.fields import Settings, count, number

#: The built-in algorithms, of which the first one is the default; also any ``MODULE:CLASS`` of an `Algorithm`, whose
#: settings are its ``Config``.
ALGORITHMS = ("ppo", "pqn")
DEFAULT = ALGORITHMS[0]

Ends = Literal["never", "terminated", "episode"]  # where the intrinsic return can be cut
MinibatchOf = Literal["environments", "samples"]  # what a minibatch is drawn from
#: Largest weight of a term, or learning rate.
MAX_COEF = 1e6


def class_of(name: str) -> str:
    """Where the class of an algorithm is, ``MODULE:CLASS``."""
    return f"action_balance.algorithms.{name}.{name}:{name.upper()}" if name in ALGORITHMS else name


def settings_of(name: str) -> str:
    """Where the settings of a built-in algorithm are, ``MODULE:CLASS``."""
    return f"action_balance.algorithms.{name}.config:{name.upper()}Config"


@dataclass(frozen=True)
class AlgorithmConfig(Settings):
    """What every algorithm has: rollouts, minibatches, Adam and two reward streams. Inherit from it for your own."""

    name: str = field(default="", metadata={"flag": "algorithm", "names": ALGORITHMS, "own": True})
    """Algorithm that learns from the rollouts"""
    rollout_steps: int = count(128)
    """Steps in each environment between updates."""
    epochs: int = count(4)
    """Passes over a rollout per update."""
    minibatches: int = count(4)
    """Minibatches per epoch. This number must divide the number of environments or, with --minibatch-of samples and
    without memory, the number of samples in a rollout."""
    learning_rate: float = number(3e-4, above=True)
    """Adam learning rate of the agent's network and the bonus networks; RND used 1e-4."""
    learning_rate_end: float | None = number(None, high=MAX_COEF)
    """Learning rate after the last update, annealed linearly over the planned updates (default: constant). Extending a
    run stretches the schedule to the new length: the rate rises once, to what the longer run would have had at this
    update, and falls from there."""
    max_grad_norm: float | None = number(None, above=True)
    """Maximum L2 norm of the gradient of the agent's network; larger gradients are scaled down to it (default: no
    clipping). Gradients of the bonus networks are not clipped."""
    gamma_ext: float = number(0.999, high=1)
    """Discount factor of the extrinsic reward."""
    gamma_int: float = number(0.99, high=1)
    """Discount factor of the intrinsic reward."""
    extrinsic_coef: float = number(2.0, high=MAX_COEF)
    """Weight of the extrinsic stream: of its advantages, or of its Q-values."""
    intrinsic_coef: float = number(1.0, high=MAX_COEF)
    """Weight of the intrinsic stream; if it is 0, the intrinsic value is not learned either."""
    intrinsic_ends: Ends = "never"
    """Where the intrinsic return ends: never (RND), at terminal states, or at the end of every episode."""
    minibatch_of: MinibatchOf = "environments"
    """What a minibatch consists of: all steps of some environments (RND), or samples shuffled across steps and
    environments. With --memory gru, it is always all steps of some environments."""
    normalize_returns: bool = False
    """Divide extrinsic rewards by the running standard deviation of the discounted return, so that values do not depend
    on the scale of the reward. Reported returns are not rescaled."""
    bootstrap_truncation: bool = False
    """At a time limit, bootstrap the return from the value of the final observation, as if the episode continued. This
    applies to the extrinsic return and, with --intrinsic-ends episode, to the intrinsic return. Without this flag, a
    time limit counts as a terminal state (RND)."""

    #: What differs from the defaults in each of `config.presets.PRESETS`: settings of the agent, by path.
    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    #: c of Eq. 5 where neither a setting nor the method has one.
    action_coef: ClassVar[float] = 1.0
    #: Probability of random actions where neither a setting nor the method has one.
    epsilon: ClassVar[float] = 0.0
    #: Whether c of Eq. 5 can adapt while some actions are random.
    adapts_with_epsilon: ClassVar[bool] = False
    #: Names of its metrics that are numbers.
    metrics: ClassVar[tuple[str, ...]] = ()
    #: Whether the weight of an entropy can be raised by a method.
    has_entropy: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.name:  # that of the class, unless a file or a user says which one it is
            path = f"{type(self).__module__}:{type(self).__qualname__}"
            name = next((name for name in ALGORITHMS if settings_of(name) == path), path.removesuffix(".Config"))
            object.__setattr__(self, "name", name)
        super().__post_init__()

    def stall_reason(self, metrics: Mapping[str, float], separate_trunks: bool | None) -> str | None:
        """Why a return may not improve, as one of the last updates shows, and what to try; None if nothing is known.

        Args:
            metrics: Metrics of the update.
            separate_trunks: Whether the network's parts have trunks of their own; None where there is no choice.

        Returns:
            A clause and a sentence for a message.
        """
        return None
