"""The contract of an algorithm: all that the engines know about how an agent learns from rollouts.

Every update has the same parts: a rollout of the behaviour policy, the rewards of the bonuses, targets, and epochs of
minibatches of a loss, to which the losses of the bonuses are added (Eq. 6). An algorithm says what the two heads of its
network mean (`evaluate`), which policy that stands for (`policy`), what is learned (`targets`) and how (`loss`). All
else is the same for all algorithms: the shift of Eq. 5, random actions, statistics, memory, masks, devices and hosts.

An algorithm of your own is a subclass of `Algorithm` in any module, named on the command line as ``--algorithm
MODULE:CLASS``. Its settings are a dataclass ``Config`` that inherits from `AlgorithmConfig`.

Axes: T steps, N environments, B samples of a minibatch, A choices of all action components, L preferences (logits of
the choices, then means and log standard deviations of continuous numbers), V outputs of the second head.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PRNGKeyArray, PyTree

from action_balance.algorithms.networks import Policy, make_policy
from action_balance.algorithms.state import Samples, Trajectory, UpdateInfo
from action_balance.config.agent import AgentConfig
from action_balance.config.algorithm import DEFAULT, AlgorithmConfig, class_of
from action_balance.config.registry import load_object
from action_balance.core import returns
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.exploration.base import Exploration
from action_balance.nets.policy import Heads

#: Numbers by name.
Metrics = dict[str, Array]
#: The mean over a whole minibatch of a number of every sample of it, or of a part of it.
Mean = Callable[[Float[Array, " B"]], Float[Array, ""]]


class Experience(NamedTuple):
    """A rollout with its rewards."""

    trajectory: Trajectory  # extrinsic rewards are divided by their scale where returns are normalised
    intrinsic: Float[Array, "T N"]  # scaled intrinsic rewards
    last_values: Float[Array, "N 2"]  # of the observations after the rollout
    final_values: Float[Array, "T N 2"] | None  # of every s_{t+1}; None where time limits are not bootstrapped
    drift: Float[Array, "T N"] | None  # what a newer policy adds to log beta(a|s), if another one acted


class Targets(NamedTuple):
    """What an update learns."""

    samples: PyTree  # what the loss needs of every step, arrays (T, N, ...)
    noted: Metrics  # what `metrics` needs


class Algorithm(Exploration, ABC):
    """One algorithm for one environment. It holds settings only: compiled functions take it as a static argument."""

    #: Dataclass of its settings, which become flags of the command line.
    Config: ClassVar[type[AlgorithmConfig]]
    #: Names of the numbers that `loss` returns, and those of which the largest counts, in place of their sum.
    terms: ClassVar[tuple[str, ...]] = ()
    largest: ClassVar[tuple[str, ...]] = ()
    #: Whether it needs actions that can be listed.
    needs_lists: ClassVar[bool] = False
    #: The metric of `distance` that an adaptive c keeps near its target.
    distance_name: ClassVar[str] = "kl_beta_pi"

    @property
    def settings(self) -> Any:
        """The settings of the algorithm, an instance of its ``Config``."""
        return self.config.algorithm

    @property
    def heads(self) -> Heads:
        """What the network needs; by default, the first head has an output for every choice of the actions, and a mean
        and a standard deviation for every number, and the second two values."""
        stds, std = self.distribution.reals, self.config.network.action_std
        return Heads(self.distribution.outputs, memory=self.config.recurrent_units, stds=stds, std=std)

    def network(self, key: PRNGKeyArray) -> Policy:
        """A network for the environment's observations."""
        return make_policy(self.spec, self.config, key, self.heads)

    @abstractmethod
    def evaluate(
        self, first: Float[Array, " L"], second: Float[Array, " V"], mask: Bool[Array, " A"] | None
    ) -> tuple[Float[Array, " L"], Float[Array, " 2"]]:
        """What the network's outputs for one observation mean.

        Args:
            first: Outputs of the first head.
            second: Outputs of the second head.
            mask: Which choices are allowed; None if all of them are.

        Returns:
            The preferences, which Eq. 5 shifts, such as logits or Q-values; and the intrinsic and extrinsic value.
        """

    def policy(self, preferences: Any, mask: Bool[Array, " A"] | None) -> Any:
        """The policy that preferences stand for, shifted or not, as `distribution` takes it; by default they are it.

        Args:
            preferences: Preferences for all choices; those of forbidden ones are `FORBIDDEN`.
            mask: Which choices are allowed; None if all of them are.

        Returns:
            Its logits.
        """
        return preferences

    @abstractmethod
    def targets(self, experience: Experience) -> Targets:
        """What an update learns from a rollout, once before its minibatches."""

    def minibatch(self, samples: PyTree, whole: PyTree) -> PyTree:
        """The targets of a minibatch, or of a part of it, given those of the whole minibatch."""
        return samples

    @abstractmethod
    def loss(
        self,
        first: Float[Array, "B L"],
        second: Float[Array, "B V"],
        samples: Samples,
        coef: Float[Array, ""],
        mean: Mean,
    ) -> tuple[Float[Array, ""], Metrics]:
        """The loss of a minibatch.

        Args:
            first: Outputs of the network's first head for its observations.
            second: Outputs of the second head.
            samples: The samples, with what `targets` made of them.
            coef: c of Eq. 5 when they were acted.
            mean: See `Mean`; these samples may be a part of their minibatch.

        Returns:
            The loss, and the numbers that `terms` names.
        """

    def metrics(self, trajectory: Trajectory, info: UpdateInfo) -> Metrics:
        """Numbers to log after every update, by name; by default the means of `terms`."""
        return {f"loss_{name}": info.losses[name].mean() for name in self.terms}

    def distance(self, trajectory: Trajectory, beta: Any, coef: Float[Array, ""]) -> Metrics:
        """How far the behaviour policy is from pi on average, as the metric `distance_name`."""
        kl = each(self.distribution.kl)(beta, each(self.policy)(trajectory.preferences, trajectory.mask))
        return {self.distance_name: kl.mean()}

    def behaviour_logits(
        self,
        preferences: Float[Array, " L"],
        bonus: Any,
        coef: Float[Array, ""],
        mask: Bool[Array, " A"] | None = None,
        epsilon: Float[Array, ""] | None = None,
    ) -> Any:
        """The behaviour policy beta, as `distribution` takes it: preferences are shifted (Eq. 5), made a policy, and
        mixed with a uniform one where epsilon, by default that of the settings, is above 0."""
        return self.mix(self.policy(self.shift(preferences, bonus, coef, mask), mask), epsilon, mask)

    def advantages(self, experience: Experience, trace: float) -> Float[Array, "T N 2"]:
        """Generalised advantages of the intrinsic and the extrinsic stream (Section III-E), with lambda ``trace``; with
        the values added to them, lambda-returns.

        The extrinsic stream is cut at every end of an episode, time limits included. The intrinsic stream continues
        into the next episode, unless the settings say otherwise. Where truncation is bootstrapped, the return that a
        time limit cuts continues with the value of the last observation (Pardo et al., 2018,
        https://arxiv.org/abs/1712.00378).
        """
        settings, (made, bonus, last_values, final_values, _) = self.settings, experience
        ended = made.ended
        cuts = {"never": jnp.zeros_like(ended), "terminated": made.terminated, "episode": ended}
        next_values = jnp.concatenate([made.values[1:], last_values[None]])
        limits = made.truncated & ~made.terminated

        def stream(rewards: Array, place: int, cut: Array, gamma: float) -> Array:
            values, following, zero = made.values[..., place], next_values[..., place], cut
            if final_values is not None:
                following = jnp.where(cut & limits, final_values[..., place], following)
                zero = cut & ~limits

            def one(rewards: Array, values: Array, following: Array, zero: Array, cut: Array) -> Array:
                deltas = returns.td_errors(rewards, values, following, gamma * (1.0 - zero))
                return returns.advantages(deltas, gamma * (1.0 - cut) * trace)

            each_environment = jax.vmap(one, in_axes=1, out_axes=1)
            found: Array = each_environment(rewards, values, following, zero, cut)
            return found

        intrinsic = stream(bonus, 0, cuts[settings.intrinsic_ends], settings.gamma_int)
        extrinsic = stream(made.reward, 1, ended, settings.gamma_ext)
        return jnp.stack([intrinsic, extrinsic], axis=-1)


def each(function: Callable[..., Array]) -> Callable[..., Array]:
    """A function of one step, applied to all steps of a rollout, (T, N)."""
    return jax.vmap(jax.vmap(function))


def make_algorithm(config: AgentConfig, spec: EnvSpec) -> Algorithm:
    """The algorithm of an agent, built-in or a user's, for an environment."""
    name = config.algorithm.name
    kind = load_object(class_of(name))
    if not (isinstance(kind, type) and issubclass(kind, Algorithm)):
        raise UserError(f"{name} is not a subclass of action_balance.algorithms.base.Algorithm")
    if kind.needs_lists and not spec.lists_actions:
        raise UserError(f"{name} compares all actions of a list, and these are continuous: use --algorithm {DEFAULT}")
    made: Algorithm = kind(config, spec)
    return made
