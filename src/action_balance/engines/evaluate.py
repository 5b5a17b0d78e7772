"""What evaluations on the device and on the host share: how actions are chosen, and what episodes come to.

Axes: K agents, E episodes, T steps, A choices of all action components, L preferences, S enumerable states, P cells of
a policy's memory with U units each.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Real

from action_balance.algorithms.base import Algorithm
from action_balance.algorithms.rollout import act
from action_balance.algorithms.state import Actor
from action_balance.config.agent import AgentConfig
from action_balance.config.train import TrainConfig

#: How actions are chosen: the mode of pi, a sample of pi, or a sample of beta (Eq. 5).
ActionMode = Literal["greedy", "sampled", "behaviour"]
ACTION_MODES: tuple[ActionMode, ...] = get_args(ActionMode)

#: Called with the number of further episodes that are finished; may be fractions.
OnEpisodes = Callable[[float], None]
#: An array of JAX or, in results, of NumPy.
AnyArray = Any


class Decision(eqx.Module):
    """An action and what it was chosen from; with leading axes where there are several."""

    action: Real[AnyArray, "..."]  # as the environment gets it
    pi: Float[AnyArray, "*e L"]  # preferences: logits, or means and log standard deviations
    beta: Any  # as pi, or `Balanced`
    action_bonus: Any  # (..., A), or `Candidates`
    mask: Bool[AnyArray, "*e A"] | None = None  # which choices were allowed; None if all of them were


class Trace(eqx.Module):
    """One episode, step by step, with axis T; or one step of it."""

    decision: Decision
    reward: Float[AnyArray, "*t"]
    terminated: Bool[AnyArray, "*t"]  # whether the step ended the task
    state: Int[AnyArray, "*t"]  # number of s_t; 0 where states cannot be enumerated
    next_state: Int[AnyArray, "*t"]  # number of s_{t+1}


class Recording(NamedTuple):
    """What a replay of an episode on the host needs."""

    seed: tuple[int, ...]  # of all environments
    number: int  # of its environment
    actions: Real[np.ndarray, "T *c"]
    scores: Float[np.ndarray, " T"]  # raw rewards


class Evaluation(eqx.Module):
    """Episodes with one action mode, of one agent or of K agents."""

    returns: Float[AnyArray, "*k E"]  # neither discounted nor scaled
    lengths: Int[AnyArray, "*k E"]
    terminated: Bool[AnyArray, "*k E"]  # whether the task ended; the time limit otherwise
    visits: Int[AnyArray, "*k S"]  # how often each state was reached; S = 0 where states cannot be enumerated
    trace: Trace | None = None  # the first episode; of several agents, that of the first
    recordings: tuple[tuple[Recording, ...], ...] = ()  # K x E; empty unless recorded
    info: dict[str, Float[AnyArray, "*k E"]] = eqx.field(default_factory=dict)  # `Step.info` at the ends, by name


def action_modes(config: AgentConfig) -> tuple[ActionMode, ...]:
    """The action modes of a method; one that acts uniformly has no most probable action."""
    if config.uniform:
        return ("sampled",)
    return ACTION_MODES if config.beta_differs else ("greedy", "sampled")


def decide(
    actor: Actor,
    observation: Real[Array, "..."],
    index: Int[Array, ""] | int,
    key: PRNGKeyArray,
    mode: Int[Array, ""],
    algorithm: Algorithm,
    with_bonus: bool = True,
    mask: Bool[Array, " A"] | None = None,
    memory: Float[Array, "P U"] | None = None,
) -> tuple[Decision, Float[Array, "P U"] | None]:
    """Choose an action for one observation, given what the policy remembers of the episode."""
    distribution = algorithm.distribution
    noise = distribution.noise(key)
    found, _, bonus, memory = act(actor, observation, index, algorithm, mask, memory, noise)
    pi = beta = algorithm.policy(found, mask)
    if with_bonus:
        epsilon = None if actor.epsilon is None else actor.epsilon.mean()
        beta = algorithm.behaviour_logits(found, bonus, actor.coef, mask, epsilon)
    else:
        bonus = jax.tree.map(jnp.zeros_like, bonus)
    modes = distribution.mode(pi), distribution.sample(pi, noise), distribution.sample(beta, noise)
    action = algorithm.executed(jnp.stack(modes)[mode])
    return Decision(action, pi, beta, bonus, mask), memory


def mode_key(seed: int, number: Int[Array, ""] | int, mode: Int[Array, ""] | int) -> PRNGKeyArray:
    """Random key of all episodes of one agent in one action mode."""
    return jax.random.fold_in(jax.random.fold_in(jax.random.key(seed), number), mode)


def evaluate_agents(
    config: TrainConfig, one_agent: Callable[[ActionMode, int], Evaluation]
) -> dict[ActionMode, Evaluation]:
    """The episodes of all agents of a run in all action modes: one agent after the other, as if it were alone."""

    def all_agents(mode: ActionMode) -> Evaluation:
        agents = [one_agent(mode, place) for place in range(config.seeds)]
        numbers = [replace(one, trace=None, recordings=()) for one in agents]
        together = jax.tree.map(lambda *leaves: np.stack(leaves), *numbers)
        recordings = tuple(one for agent in agents for one in agent.recordings)
        return replace(together, trace=agents[0].trace, recordings=recordings)

    return {mode: all_agents(mode) for mode in action_modes(config.agent)}
