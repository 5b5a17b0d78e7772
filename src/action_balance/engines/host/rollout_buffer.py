"""Acting for environments on the host: one call of the device for every step of a group.

The newest frames go to the device and actions come back; everything else that a rollout consists of stays there, in a
`RolloutBuffer`. Axes: T steps, M environments of a group, N of all groups, K frames of a stack, A choices of all action
components, L preferences.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, Real

from action_balance.algorithms.base import Algorithm
from action_balance.algorithms.networks import Policy
from action_balance.algorithms.rollout import act
from action_balance.algorithms.state import Actor, Trajectory
from action_balance.core.running_stats import RunningMeanStd
from action_balance.distributions import Distribution
from action_balance.envs.frame_stack import Frames
from action_balance.envs.mixed import state_number


class EpisodeEnds(NamedTuple):
    """The episodes of a group that a step ended."""

    where: Bool[np.ndarray, " M"]
    final_obs: Real[np.ndarray, "M ..."]  # the frames of s_{t+1}


class RolloutBuffer(eqx.Module):
    """What a group has done since its rollout began.

    A decision is short, and every array that it writes to takes a part of it: so there are as few as possible.
    """

    frames: Frames  # K - 1 from before, those of T steps, and the one after; all (M, ...)
    final_obs: Real[Array, "..."]  # (T, M, ...), frames that ended an episode; arbitrary where none did
    notes: Float[Array, "T M _"]  # action, log beta(a|s), both values, preferences, scores, mask if there is one
    time: Int[Array, ""]  # the next step
    first: Int[Array, ""]  # number of the first environment
    noise: Float[Array, "T M draws"]  # of the whole rollout: drawing it takes longer than a small decision
    distribution: Distribution = eqx.field(static=True)
    masked: bool = eqx.field(static=True, default=False)  # whether the environment gives action masks
    last_mask: Bool[Array, "M A"] | None = None  # of the frame after the last step, of a complete buffer

    @classmethod
    def empty(
        cls, algorithm: Algorithm, envs: int, first: Int[Array, ""] | np.int32, key: PRNGKeyArray
    ) -> "RolloutBuffer":
        """An empty buffer. Frames before the first are never seen: they belong to other episodes."""
        spec, distribution = algorithm.spec, algorithm.distribution
        depth, shape, steps = spec.shape[0], spec.frame_shape, algorithm.config.algorithm.rollout_steps
        times, noted = depth + steps, sum(_sizes(distribution, spec.masked))
        return cls(
            frames=Frames(jnp.zeros((times, envs, *shape), spec.dtype), jnp.zeros((times, envs), bool), depth),
            final_obs=jnp.zeros((steps, envs, *shape), spec.dtype),
            notes=jnp.zeros((steps, envs, noted)),
            time=jnp.zeros((), jnp.int32),
            first=jnp.asarray(first, jnp.int32),
            noise=_noise(distribution, key, first, steps, envs),
            distribution=distribution,
            masked=spec.masked,
        )

    @property
    def _noted(self) -> list[Array]:
        """The parts of the notes."""
        ends = tuple(accumulate(_sizes(self.distribution, self.masked)))
        return jnp.split(self.notes, ends[:-1], axis=-1)

    @property
    def next_obs(self) -> Real[Array, "T M ..."]:
        """The frames of s_{t+1} of a complete buffer."""
        frame, ended = (x[self.frames.depth :] for x in (self.frames.frame, self.frames.began))
        return jnp.where(ended.reshape(ended.shape + (1,) * (frame.ndim - 2)), self.final_obs, frame)

    @property
    def action(self) -> Real[Array, "T M *c"]:
        chosen = self._noted[0].astype(self.distribution.dtype)
        return chosen.reshape(*chosen.shape[:2], *self.distribution.action_shape)

    @property
    def log_prob(self) -> Float[Array, "T M"]:
        return self._noted[1][..., 0]

    @property
    def values(self) -> Float[Array, "T M 2"]:
        return self._noted[2]

    @property
    def preferences(self) -> Float[Array, "T M L"]:
        return self._noted[3]

    @property
    def action_bonus(self) -> Any:
        """The scores that acting used, as `Trajectory` has them."""
        return self.distribution.unflat(self._noted[4])

    @property
    def mask(self) -> Bool[Array, "T M A"] | None:
        """Which choices were allowed; None where the environment gives no masks."""
        return self._noted[5] > 0 if self.masked else None

    def see(self, frame: Real[Array, "M ..."], ends: EpisodeEnds | None) -> "RolloutBuffer":
        """Add the frame that the next step starts from."""
        place = self.frames.depth - 1 + self.time
        shown = _put(self.frames.frame, frame, place)
        began = jnp.zeros(frame.shape[0], bool) if ends is None else ends.where
        frames = replace(self.frames, frame=shown, began=_put(self.frames.began, began, place))
        if ends is None:
            return replace(self, frames=frames)
        # The step before the first belongs to another rollout; what is written in its place is overwritten or unused.
        final_obs = _put(self.final_obs, ends.final_obs, jnp.maximum(self.time - 1, 0))
        return replace(self, frames=frames, final_obs=final_obs)

    def stacks(self) -> Real[Array, "M K ..."]:
        depth = self.frames.depth
        frame = jax.lax.dynamic_slice_in_dim(self.frames.frame, self.time, depth)
        began = jax.lax.dynamic_slice_in_dim(self.frames.began, self.time, depth)
        return Frames(frame, began, depth).stacks()[0]


def _sizes(actions: Distribution, masked: bool) -> tuple[int, ...]:
    """Numbers of each part of the notes: action, log beta(a|s), both values, preferences, scores, mask."""
    return math.prod(actions.action_shape), 1, 2, actions.preferences, actions.scores, masked * actions.choices


def _put(array: Array, row: Array | np.ndarray, place: Array) -> Array:
    return jax.lax.dynamic_update_index_in_dim(array, row.astype(array.dtype), place, axis=0)


def _noise(
    distribution: Distribution, key: PRNGKeyArray, first: Int[Array, ""] | np.int32, steps: int, envs: int
) -> Float[Array, "T M draws"]:
    """Noise of a group. An environment's noise depends on its number, not on the grouping."""

    def one(time: Array, number: Array) -> Array:
        return distribution.noise(jax.random.fold_in(jax.random.fold_in(key, time), number))

    of_step = jax.vmap(one, (None, 0))
    return jax.vmap(of_step, (0, None))(jnp.arange(steps), first + jnp.arange(envs))


def decide(
    actor: Actor,
    buffer: RolloutBuffer,
    frame: Real[Array, "M ..."],
    ends: EpisodeEnds | None,
    mask: Bool[Array, "M A"] | None,
    algorithm: Algorithm,
) -> tuple[RolloutBuffer, Real[Array, "M *c"]]:
    buffer = buffer.see(frame, ends)
    distribution = algorithm.distribution
    noise = jax.lax.dynamic_index_in_dim(buffer.noise, buffer.time, keepdims=False)
    found, values, bonus, _ = jax.vmap(lambda obs, m, drawn: act(actor, obs, 0, algorithm, m, noise=drawn))(
        buffer.stacks(), mask, noise
    )
    epsilon = None
    if actor.epsilon is not None:
        epsilon = jax.lax.dynamic_slice_in_dim(actor.epsilon, buffer.first, len(frame))
    behaviour = jax.vmap(lambda x, y, m, e: algorithm.behaviour_logits(x, y, actor.coef, m, e))(
        found, bonus, mask, epsilon
    )
    action = jax.vmap(distribution.sample)(behaviour, noise)
    log_prob = jax.vmap(distribution.log_prob)(behaviour, action)
    chosen = action.reshape(len(action), -1).astype(jnp.float32)
    masks = [] if mask is None else [mask.astype(jnp.float32)]
    scores = jax.vmap(lambda one: ravel_pytree(one)[0])(bonus)
    notes = jnp.concatenate([chosen, log_prob[:, None], values, found, scores, *masks], axis=-1)
    executed = jax.vmap(algorithm.executed)(action)
    return replace(buffer, notes=_put(buffer.notes, notes, buffer.time), time=buffer.time + 1), executed


def conclude(
    buffer: RolloutBuffer,
    frame: Real[Array, "M ..."],
    ends: EpisodeEnds | None,
    mask: Bool[Array, "M A"] | None,
    key: PRNGKeyArray,
    algorithm: Algorithm,
) -> tuple[RolloutBuffer, RolloutBuffer]:
    """Complete a buffer with the frame after its last step, and its action mask."""
    whole = replace(buffer.see(frame, ends), last_mask=mask)
    frames, depth = whole.frames, whole.frames.depth
    following = RolloutBuffer.empty(algorithm, len(frame), whole.first, key)
    kept = Frames(
        following.frames.frame.at[: depth - 1].set(frames.frame[-depth:-1]),
        following.frames.began.at[: depth - 1].set(frames.began[-depth:-1]),
        depth,
    )
    return whole, replace(following, frames=kept)


class ActionEvaluation(NamedTuple):
    """What a policy says about a rollout that another policy made."""

    log_prob: Float[Array, "T m"]  # log beta(a|s)
    values: Float[Array, "T+1 m 2"]  # also of the observations after the last step


def evaluate_actions(
    policy: Policy,
    buffer: RolloutBuffer,
    obs_stats: RunningMeanStd,
    coef: Float[Array, ""],
    epsilon: Float[Array, " N"] | None,
    first: Int[Array, ""],
    count: int,
    algorithm: Algorithm,
) -> ActionEvaluation:
    def mine(array: Array) -> Array:
        return jax.lax.dynamic_slice_in_dim(array, first, count, axis=1)

    frames = buffer.frames
    stacks = Frames(mine(frames.frame), mine(frames.began), frames.depth).stacks()

    if epsilon is not None:
        epsilon = jax.lax.dynamic_slice_in_dim(epsilon, buffer.first + first, count)

    def log_prob(found: Array, bonus: Any, action: Array, mask: Array | None, epsilon: Array | None) -> Array:
        behaviour = algorithm.behaviour_logits(found, bonus, coef, mask, epsilon)
        return algorithm.distribution.log_prob(behaviour, action)

    outputs = jax.vmap(jax.vmap(lambda obs: policy(algorithm.policy_obs(obs, obs_stats))))(stacks)
    bonus, action, mask = (jax.tree.map(mine, one) for one in (buffer.action_bonus, buffer.action, buffer.mask))
    masks = None
    if mask is not None and buffer.last_mask is not None:
        masks = jnp.concatenate([mask, mine(buffer.last_mask[None])])
    found, values = jax.vmap(jax.vmap(algorithm.evaluate))(*outputs, masks)
    log_probs = jax.vmap(jax.vmap(log_prob, in_axes=(0, 0, 0, 0, 0)), in_axes=(0, 0, 0, 0, None))(
        found[:-1], bonus, action, mask, epsilon
    )
    return ActionEvaluation(log_probs, values)


def trajectory(
    buffers: Sequence[RolloutBuffer],
    actor: Actor,
    reward: Float[Array, "T N"],
    terminated: Bool[Array, "T N"],
    truncated: Bool[Array, "T N"],
    algorithm: Algorithm,
) -> tuple[Trajectory, Float[Array, "N 2"]]:
    def joined(*parts: Any) -> Any:
        return jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis=1), *parts)

    masks = ["mask"] if algorithm.spec.masked else []
    names = ("next_obs", "action", "log_prob", "preferences", "action_bonus", "values", *masks)
    made: dict[str, Any] = {name: joined(*(getattr(one, name) for one in buffers)) for name in names}
    frame = joined(*(one.frames.frame for one in buffers))
    began = joined(*(one.frames.began for one in buffers))
    depth = buffers[0].frames.depth
    after = Frames(frame[-depth:], began[-depth:], depth).stacks()[0]
    last_masks = [one.last_mask for one in buffers if one.last_mask is not None]
    last_mask = jnp.concatenate(last_masks) if last_masks else None

    def value(obs: Array, mask: Array | None) -> Array:
        return algorithm.evaluate(*actor.policy(algorithm.policy_obs(obs, actor.obs_stats)), mask)[1]

    epsilon = actor.epsilon
    index, next_index = (state_number(algorithm.spec, one) for one in (frame[depth - 1 : -1], made["next_obs"]))
    return (
        Trajectory(
            observation=Frames(frame[:-1], began[:-1], depth),
            reward=reward,
            terminated=terminated,
            truncated=truncated,
            index=index,
            next_index=next_index,
            epsilon=None if epsilon is None else jnp.broadcast_to(epsilon, reward.shape),
            **made,
        ),
        jax.vmap(value)(after, last_mask),
    )
