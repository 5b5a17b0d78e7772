"""A trained agent, for use in any program: NumPy in, NumPy out.

Axes: B observations, A choices, D continuous numbers of an action, n numbers of a whole one.
"""

import math
import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from action_balance.algorithms.base import make_algorithm
from action_balance.algorithms.rollout import make_actor
from action_balance.arguments import as_path, as_whole
from action_balance.config.env import DeviceEnvConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.evaluate import ACTION_MODES, ActionMode
from action_balance.envs.masks import BadMask, allowed, mask_rows, mask_vector
from action_balance.errors import UserError, check_name
from action_balance.interop.inputs import padded
from action_balance.trained import agent_file
from action_balance.trained.agent_file import SavedAgent
from action_balance.trained.observations import Translator
from action_balance.trained.programs import Keys, Outputs, choose, state_bonus, view

_make_actor = jax.jit(make_actor, static_argnums=1)


class Values(NamedTuple):
    """Values of observations: arrays with axis B, or numbers of one observation."""

    extrinsic: np.ndarray
    """Expected discounted return of the rewards of the environment, as the agent learns from them."""
    intrinsic: np.ndarray
    """Expected discounted return of the scaled next-state bonus."""


class Bonuses(NamedTuple):
    """Bonuses of observations: arrays with axis B, or of one observation."""

    intrinsic: np.ndarray | None
    """The next-state bonus of reaching each observation, before it is scaled; None where the method has none, or where
    it depends on more than one observation (icm, ngu, e3b)."""
    action: np.ndarray | None
    """The bonus of every action, with axis A, before it is normalised; of continuous actions, that of one action for
    each observation. None where the method has none."""


class Normal(NamedTuple):
    """Normal distributions of the continuous numbers of actions: arrays with axis D, after axis B of a batch."""

    mean: np.ndarray
    std: np.ndarray


class Agent:
    """A trained agent: `act`, `values`, `bonuses`, `probabilities` or `normal`, and `save`.

    `action_balance.load` returns it. All methods take one observation, as the environment returns it, or a batch. A
    program is compiled for each batch size that is a power of two; other sizes are padded.

    If an agent sees the newest K > 1 frames, an observation is their stack, oldest first, e.g. (4, 84, 84) for an Atari
    game; `stack` builds it.

    An agent with a recurrent memory remembers the observations that `act` has seen, of one environment or of each
    environment of a batch: call `act` once per step, and pass ``began=True`` with the first observation of an episode.
    The other methods only look at what it remembers. Without memory, the agent keeps only its random state between
    calls.
    """

    def __init__(self, saved: SavedAgent) -> None:
        self._saved = saved
        self.config = saved.config
        """Settings of its run, of this agent alone."""
        self.spec = saved.spec
        """Observations and actions that it was built for."""
        self.method = saved.method
        """Name of the method that it was trained with."""
        self.seed = saved.config.seed
        """The seed that it was trained with."""
        self.update = int(saved.state.updates)
        """Number of updates that it was trained for."""
        self.policy_only = saved.policy_only
        """Whether it was saved without its bonuses."""
        self._algorithm = make_algorithm(saved.config.agent, saved.spec)
        self._actor = _make_actor(saved.state, self._algorithm)
        self._translator = Translator.of(saved.spec, saved.spaces)
        self._number_states = _numbering(saved.config) if saved.spec.states else None
        # As in training on the device: with less precision another action may be chosen.
        self._precision = "highest" if isinstance(saved.config.env, DeviceEnvConfig) else None
        self._stack: np.ndarray | None = None
        self._memory: np.ndarray | None = None  # (B, ...), of the episodes under way
        self._key, self._calls = jax.random.key(0), 0

    def __repr__(self) -> str:
        about = f"{self.method} in {self.config.env.name}, seed {self.seed}, after {self.update:,} updates"
        return f"<Agent: {about}{', policy only' if self.policy_only else ''}>"

    def reset(self, seed: int | None = None) -> None:
        """Discard the frames kept by `stack` and the recurrent memory, and restart the random numbers.

        Args:
            seed: seed of the random numbers from now on (default: 0, as after `action_balance.load`).
        """
        self._stack = self._memory = None
        self._key, self._calls = jax.random.key(as_whole("seed", seed or 0)), 0

    def act(
        self, obs: Any, mode: ActionMode = "sampled", mask: Any = None, *, key: Any = None, began: Any = False
    ) -> Any:
        """Choose actions, as ``action-balance evaluate`` does.

        Args:
            obs: one observation as the environment returns it, or a batch.
            mode: ``sampled`` (from pi), ``greedy`` (the most probable action of pi), or ``behaviour`` (from beta, as in
                training).
            mask: which actions are allowed, (A,) or (B, A), as ``info["action_mask"]`` has them. An agent trained with
                masks needs one; for other agents, None allows all actions.
            key: a seed or a JAX key for the draws of this call: of one observation the key itself, of a batch the key
                with the number of the row folded in; or (B,) JAX keys. By default, the next draws of the agent's own
                random numbers (see `reset`).
            began: for agents with a recurrent memory: whether the observation is the first of an episode, one for all
                or one for each environment. The first call after `reset` always begins.

        Returns:
            An action that the environment's ``step`` takes, or an array of them.
        """
        self._check(mode, ACTION_MODES, mask)
        seen, lead = self._translator.observations(obs)
        filled = padded(seen)
        key, kind, number = self._draw(key, lead, len(filled))
        memory = self._recall(lead, began)
        with jax.default_matmul_precision(self._precision):
            made, memory = choose(
                self._actor,
                filled,
                self._index(filled),
                key,
                np.int32(number),
                np.int32(ACTION_MODES.index(mode)),
                self._mask(mask, lead),
                memory,
                algorithm=self._algorithm,
                keys=kind,
                with_bonus=mode == "behaviour",
            )
        self._memory = None if memory is None else np.asarray(memory)[: len(seen)]
        return self._translator.actions(np.asarray(made)[: len(seen)], lead)

    def probabilities(
        self, obs: Any, mode: Literal["sampled", "behaviour"] = "sampled", mask: Any = None, *, began: Any = False
    ) -> np.ndarray:
        """Probabilities of all actions, one after the other for each action component; discrete ones only.

        Args:
            obs: one observation, or a batch.
            mode: ``sampled`` for pi, ``behaviour`` for beta.
            mask: which actions are allowed, as for `act`.
            began: whether episodes begin, as for `act`.

        Returns:
            An array with axis A, after axis B of a batch.
        """
        if not self.spec.lists_actions:
            raise UserError("continuous actions have no probabilities: call normal for means and standard deviations")
        self._check(mode, ("sampled", "behaviour"), mask)
        made, lead = self._view(obs, mask, began)
        logits = made.pi if mode == "sampled" else made.beta

        def softmax(one: Array) -> Array:
            return self._algorithm.distribution.discrete.per_component(jax.nn.softmax, one)

        return _cut(jax.vmap(softmax)(logits), lead)

    def normal(self, obs: Any, mask: Any = None, *, began: Any = False) -> Normal:
        """The normal distributions that pi has over the continuous numbers of actions, in units of the environment.

        They are those of the numbers x before they are brought within their bounds: the environment gets x clipped or,
        with ``--squash-actions`` and two bounds, ``m + h tanh((x - m) / h)`` with their middle m and half distance h.

        Args:
            obs: one observation, or a batch.
            mask: which discrete choices are allowed, as for `act`.
            began: whether episodes begin, as for `act`.

        Returns:
            Means and standard deviations, in the order of the environment's continuous numbers.
        """
        if self.spec.lists_actions:
            raise UserError("this agent has no continuous actions: call probabilities")
        self._need_policy("normal distribution")
        made, lead = self._view(obs, mask, began)
        distribution = self._algorithm.distribution
        _, mean, log_std = np.split(_cut(made.pi, lead), [distribution.choices, distribution.outputs], axis=-1)
        origins, units = np.array(self.spec.action_units, np.float32).T
        return Normal(origins + units * mean, units * np.exp(log_std))

    def values(self, obs: Any, mask: Any = None, *, began: Any = False) -> Values:
        """Values of observations, for both reward streams.

        Args:
            obs: one observation, or a batch.
            mask: which actions are allowed, as for `act`; Q-learning values a state by the best of these.
            began: whether episodes begin, as for `act`.

        Returns:
            The extrinsic and the intrinsic value of each.
        """
        made, lead = self._view(obs, mask, began)
        unit = 1 if self._saved.state.reward_unit is None else self._saved.state.reward_unit
        return Values(_cut(made.values[:, 1] * unit, lead), _cut(made.values[:, 0], lead))

    def bonuses(self, obs: Any, actions: Any = None) -> Bonuses:
        """Bonuses of observations, as far as the method has them.

        Args:
            obs: one observation, or a batch.
            actions: of continuous actions, those whose bonus is returned, one for each observation as `act` returns
                them; by default the most probable ones, with a recurrent memory those at the beginning of an episode.

        Returns:
            The next-state bonus of reaching each observation, and the bonus of every action in it, or of these.
        """
        if actions is not None and self.spec.lists_actions:
            raise UserError("bonuses returns the bonus of every discrete action: leave out actions")
        self._need_bonuses("bonuses")
        made, lead = self._view(obs, began=True, actions=actions)  # no bonus sees the memory
        rewards = self._algorithm.intrinsic
        intrinsic = None
        if rewards is not None and rewards.rewards_states:
            frames = padded(self._translator.observations(obs)[0])
            newest = frames[:, -1] if self.spec.is_stack else frames
            found = state_bonus(self._saved.state, newest, self._index(frames), algorithm=self._algorithm)
            intrinsic = _cut(found, lead)
        balanced = self._algorithm.action_bonus is not None
        return Bonuses(intrinsic, _cut(made.action_bonus, lead) if balanced else None)

    def stack(self, obs: Any, began: Any = False) -> Any:
        """Append an observation to the frames kept by the agent, for agents that see K > 1 frames.

        Args:
            obs: one observation as the environment returns it, or a batch of as many environments as in the last call.
            began: whether it is the first of an episode, one for all or one for each environment; the frames before it
                are then zero, as in training. The first call after `reset` always begins.

        Returns:
            What `act` and the other methods take; the observation itself where the agent sees one frame.
        """
        if not self._translator.stacks:
            return obs
        frames, lead = self._translator.frames(obs)
        old = self._stack
        if old is None or len(old) != len(frames):
            old = np.zeros((len(frames), *self.spec.shape), self.spec.dtype)
        first = np.broadcast_to(np.asarray(began, bool), lead).reshape(-1, *[1] * (old.ndim - 1))
        self._stack = np.concatenate([np.where(first, 0, old[:, 1:]).astype(old.dtype), frames[:, None]], axis=1)
        return self._stack.reshape((*lead, *self.spec.shape))

    def save(self, path: str | os.PathLike[str], policy_only: bool = False) -> Path:
        """Write the agent to a single file, which `action_balance.load` reads without the run or its environment.

        Args:
            path: of the file, e.g. ``mine.agent``; an existing file is replaced.
            policy_only: leave out the bonuses, for a smaller file that can act only by the policy pi.

        Returns:
            The path.
        """
        file = as_path("the file", path)
        saved = self._saved if self.policy_only or not policy_only else self._saved.without_bonuses()
        agent_file.save(file, saved)
        return file

    def _index(self, observations: np.ndarray) -> Any:
        if self._number_states is None:
            return np.zeros(len(observations), np.int32)
        return self._number_states(observations[:, -1] if self.spec.is_stack else observations)

    def _view(
        self, obs: Any, mask: Any = None, began: Any = False, actions: Any = None
    ) -> tuple[Outputs, tuple[int, ...]]:
        seen, lead = self._translator.observations(obs)
        filled, rows, memory = padded(seen), self._mask(mask, lead), self._recall(lead, began)
        taken = None if actions is None else padded(self._translator.taken(actions, lead))
        with jax.default_matmul_precision(self._precision):
            made = view(self._actor, filled, self._index(filled), rows, memory, taken, algorithm=self._algorithm)
        return made, lead

    def _recall(self, lead: tuple[int, ...], began: Any) -> np.ndarray | None:
        """The memory before some observations, padded; None of an agent without memory."""
        cells = self._actor.policy.memory
        if cells is None:
            return None
        try:
            first = np.broadcast_to(np.asarray(began, bool), lead).reshape(-1, 1, 1)
        except ValueError:
            raise UserError("began must be one value, or one for each observation") from None
        old = self._memory
        if old is None or first.all():
            old = np.zeros((len(first), *cells.shape), np.float32)
        if len(old) != len(first):
            raise UserError(
                f"the agent remembers the episodes of {len(old)} environments, but {len(first)} observations were "
                f"given: pass began=True where new episodes begin"
            )
        return padded(np.where(first, np.float32(0), old))

    def _draw(self, key: Any, lead: tuple[int, ...], room: int) -> tuple[Any, Keys, int]:
        """The random key of a call, what it is, and the number of the call."""
        if key is None:
            self._calls += 1
            return self._key, "stream", self._calls - 1
        if isinstance(key, (int, np.integer)):
            key = jax.random.key(int(key))
        if not isinstance(key, jax.Array) or not jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            raise UserError("key must be a whole number or a jax.random.key")
        if key.shape == () and lead:
            return key, "batch", 0
        if key.shape != lead:
            raise UserError(f"observations have the leading axes {lead}, but keys {key.shape}: pass one key for each")
        return key.reshape(-1)[np.minimum(np.arange(room), key.size - 1)], "each", 0

    def _mask(self, mask: Any, lead: tuple[int, ...]) -> np.ndarray | None:
        """Which choices are allowed, (B, A), padded; None for all."""
        if mask is None:
            return None
        nvec, count = self.spec.nvec, math.prod(lead)
        try:
            rows = mask_rows(mask, count, nvec) if lead else mask_vector(mask, nvec)[None]
            return padded(allowed(rows.reshape(count, -1), nvec))
        except BadMask as error:
            raise UserError(str(error)) from None
        except (TypeError, ValueError):
            raise UserError(f"mask has the wrong shape: pass a mask for each of the {count} observations") from None

    def _check(self, mode: str, modes: tuple[str, ...], mask: Any) -> None:
        """Raise a `UserError` if the agent cannot act in a mode, or lacks a mask."""
        check_name("mode", mode, modes)
        if mode == "behaviour":
            self._need_bonuses("behaviour policy")
        if mode == "greedy":
            self._need_policy("most probable action")
        if mask is None and self.spec.masked:
            raise UserError(
                'this agent was trained with action masks: pass mask=info["action_mask"], or ones to allow all actions'
            )

    def _need_policy(self, what: str) -> None:
        if self.config.agent.uniform:
            raise UserError(f"{self.method} acts uniformly at random and has no {what}: sample an action instead")

    def _need_bonuses(self, what: str) -> None:
        if self.policy_only:
            raise UserError(
                f"this agent was saved with policy_only=True and has no {what}: load its run, or a file saved without "
                f"policy_only"
            )


def _numbering(config: TrainConfig) -> Any:
    """Numbers the states of observations; None where the family of the environment was not imported."""
    if not isinstance(config.env, DeviceEnvConfig):
        return None
    return jax.jit(jax.vmap(config.environment(jax.random.key(config.seed)).index))


def _cut(values: Any, lead: tuple[int, ...]) -> np.ndarray:
    """Without padding, and with the leading axes of the observations."""
    found = np.asarray(values)[: math.prod(lead)]
    return found.reshape((*lead, *found.shape[1:]))[()]
