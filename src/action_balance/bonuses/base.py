"""The bonus protocol: everything that the agent knows about an exploration bonus.

The agent asks a bonus four things: create your parameters and state for this environment (`init`); score all actions of
a state, which balances the policy (`scores`; some continuous actions: `scores_of`); reward a rollout, with what was
known before it, and return your state after it (`reward`); and what is your loss on this minibatch (`loss`). The
parameters are trained by the agent's optimiser together with the policy. The state holds what is not trained, such as
target networks, counts or memories.

A bonus of your own is a subclass of `Bonus` in any module, named on the command line as ``--intrinsic MODULE:CLASS`` or
``--action-bonus MODULE:CLASS``. It implements `reward`, `scores` or both.

Axes: T steps, N environments, P samples of a minibatch, A choices of all action components, K actions,
V numbers of an action as a vector, f axes of a frame.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Real

from action_balance.config.agent import AgentConfig
from action_balance.config.methods import ACTION_BONUSES, INTRINSIC_BONUSES, NONE
from action_balance.config.registry import load_object
from action_balance.config.serialization import from_dict
from action_balance.core.running_stats import RunningMeanStd
from action_balance.distributions import Distribution
from action_balance.envs.actions import distribution_of
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError

#: The two uses of a bonus, and the names under which its parameters and state are kept.
INTRINSIC, ACTION = "intrinsic", "action"

#: The method that a bonus implements for each use, and the option that selects it.
NEEDED = {INTRINSIC: ("reward", "--intrinsic"), ACTION: ("scores", "--action-bonus")}

#: The built-in bonuses of each use.
BUILT_IN = {INTRINSIC: INTRINSIC_BONUSES, ACTION: ACTION_BONUSES}

#: Trees of arrays; only the bonus itself knows their structure.
Params: TypeAlias = Any
State: TypeAlias = Any


class BonusObs(eqx.Module):
    """One observation as a bonus sees it: the newest frame of a stack, the observation itself otherwise."""

    frame: Real[Array, " *f"]  # raw
    index: Int[Array, ""]  # number of the state; 0 where states cannot be enumerated
    stats: RunningMeanStd  # of observations
    clip: float = eqx.field(static=True)

    @property
    def normalized(self) -> Float[Array, " *f"]:
        """The frame, normalised by the running statistics and clipped."""
        return self.stats.normalize(self.frame, self.clip)


class Transitions(eqx.Module):
    """Transitions (s_t, a_t, s_{t+1}): of a rollout with axes (T, N), or of a minibatch with axis (P,)."""

    frame: Real[Array, "..."]  # newest frame of s_t
    next_frame: Real[Array, "..."]  # newest frame of s_{t+1}, also where it ended the episode
    action: Real[Array, "..."]
    index: Int[Array, "*b"]  # number of s_t
    next_index: Int[Array, "*b"]  # number of s_{t+1}
    terminated: Bool[Array, "*b"]
    truncated: Bool[Array, "*b"]

    @property
    def ended(self) -> Bool[Array, "*b"]:
        """Whether each is the last of its episode, by a terminal state or by a time limit."""
        return self.terminated | self.truncated


class Batch(eqx.Module):
    """Transitions, and the statistics that observations are normalised with."""

    transitions: Transitions
    stats: RunningMeanStd
    clip: float = eqx.field(static=True)
    key: PRNGKeyArray  # for what the bonus draws; another one for every rollout and every minibatch

    def each(self, function: Callable[[BonusObs, Real[Array, "..."], BonusObs], Any]) -> Any:
        """Apply a function to every transition.

        Args:
            function: Takes s_t, a_t and s_{t+1} of one transition.

        Returns:
            The results, with the leading axes of the transitions.
        """

        def one(frame: Array, action: Array, next_frame: Array, index: Array, next_index: Array) -> Any:
            return function(self._obs(frame, index), action, self._obs(next_frame, next_index))

        mapped = one
        for _ in range(self.transitions.index.ndim):
            mapped = jax.vmap(mapped)
        t = self.transitions
        return mapped(t.frame, t.action, t.next_frame, t.index, t.next_index)

    def _obs(self, frame: Array, index: Array) -> BonusObs:
        return BonusObs(frame, index, self.stats, self.clip)


@dataclass(frozen=True)
class NoSettings:
    """A bonus without settings of its own."""


@dataclass(frozen=True)
class Bonus:
    """A bonus for one environment. It holds settings only; arrays are in its parameters and its state."""

    #: Dataclass of the bonus's own settings, which become flags of the command line.
    Config: ClassVar[type] = NoSettings
    #: Whether `reward` depends on the state that was reached and on nothing else, so that a single observation has one.
    rewards_states: ClassVar[bool] = False

    spec: EnvSpec
    agent: AgentConfig
    config: Any

    @property
    def uses_obs_stats(self) -> bool:
        """Whether the bonus sees normalised observations; a random agent then initialises their statistics."""
        return False

    @property
    def distribution(self) -> Distribution:
        """The distribution over the environment's actions."""
        return distribution_of(self.spec, self.agent)

    def check(self) -> None:
        """Raise a `UserError` if the bonus cannot be used with this environment and these settings."""

    def init(self, key: PRNGKeyArray, stats: RunningMeanStd) -> tuple[Params, State]:
        """Create the trained parameters and the rest of the state.

        Args:
            key: Random key of this bonus.
            stats: Statistics of the observations of a random agent, if the bonus has `uses_obs_stats`; empty otherwise.

        Returns:
            Parameters, which the optimiser trains, and the state; None where there is nothing to keep.
        """
        return None, None

    def acting_state(self, state: State) -> State:
        """The part of the state that `scores` needs, which is copied for every rollout.

        Args:
            state: State of the bonus.

        Returns:
            The state without what only training needs, such as a memory.
        """
        return state

    def new_episodes(self, state: State) -> State:
        """The state when all environments begin new episodes without an end of the previous ones, as after a resume.

        Args:
            state: State of the bonus.

        Returns:
            The state without what belongs to episodes.
        """
        return state

    def scores(self, params: Params, state: State, obs: BonusObs) -> Float[Array, " A"]:
        """The bonus of every action of a state, which balances the policy (Eq. 5): the higher, the rarer.

        Args:
            params: Trained parameters.
            state: State of the bonus.
            obs: One observation.

        Returns:
            One score per choice of the action components.
        """
        return jnp.zeros(self.distribution.choices)

    def scores_of(
        self, params: Params, state: State, obs: BonusObs, actions: Float[Array, "K V"]
    ) -> Float[Array, " K"]:
        """The bonus of some actions of a state, where actions are continuous and cannot be listed.

        Args:
            params: Trained parameters.
            state: State of the bonus.
            obs: One observation.
            actions: The actions as vectors (`distribution.vector`): discrete components one-hot, then the continuous
                numbers, from -1 to 1 where they are bounded.

        Returns:
            One score per action.
        """
        return jnp.zeros(len(actions))

    def reward(self, params: Params, state: State, rollout: Batch) -> tuple[Float[Array, "T N"], State]:
        """The intrinsic reward of every transition of a rollout, and the state after it.

        Rewards use the parameters, state and statistics from before the rollout.

        Args:
            params: Trained parameters.
            state: State of the bonus before the rollout.
            rollout: The transitions, with axes (T, N).

        Returns:
            Raw rewards, which the agent scales by the running standard deviation of their returns, and the new state.
        """
        return jnp.zeros(rollout.transitions.index.shape), state

    def loss(self, params: Params, state: State, batch: Batch) -> Float[Array, " P"]:
        """The loss of every transition of a minibatch. The agent adds their mean to its own loss (Eq. 6).

        Args:
            params: Trained parameters.
            state: State of the bonus.
            batch: The transitions, with axis (P,), and statistics that include the rollout.

        Returns:
            One loss per transition.
        """
        return jnp.zeros(batch.transitions.index.shape)

    def metrics(self, params: Params, state: State) -> dict[str, Float[Array, ""]]:
        """Further numbers to log after every update, by name.

        Args:
            params: Trained parameters.
            state: State of the bonus.

        Returns:
            Scalars by name.
        """
        return {}


def bonus_class(name: str, slot: str) -> type[Bonus]:
    """The class of a bonus, built-in or ``MODULE:CLASS``; a name may stand for another class in each slot."""
    found = load_object(BUILT_IN[slot].get(name, name))
    if not (isinstance(found, type) and issubclass(found, Bonus)):
        raise UserError(f"{name} is not a subclass of action_balance.bonuses.base.Bonus")
    return found


def make_bonus(
    name: str, slot: str, agent: AgentConfig, spec: EnvSpec, kind: type[Bonus] | None = None
) -> Bonus | None:
    """A bonus for an environment, with its settings from the config; None for ``none``. ``kind`` is its class, where
    another one than that of its name."""
    if name == NONE:
        return None
    kind, (needed, option) = kind or bonus_class(name, slot), NEEDED[slot]
    if slot == ACTION and not spec.lists_actions:
        needed = "scores_of"
        if kind.scores_of is Bonus.scores_of and name in BUILT_IN[slot]:
            raise UserError(
                f"the action bonus {name} scores all actions of a list, and these are continuous: use {option} "
                f"elliptical or distillation"
            )
    if getattr(kind, needed) is getattr(Bonus, needed):
        raise UserError(f"{name} has no method {needed}, so it cannot be used with {option}")
    try:
        signature(kind.init).bind(None, None, None)
    except TypeError:
        raise UserError(f"{name}.init must take a key and statistics: def init(self, key, stats)") from None
    bonus = kind(spec, agent, from_dict(kind.Config, agent.settings_of(name)))
    bonus.check()
    return bonus
