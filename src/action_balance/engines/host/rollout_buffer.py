"""Acting for environments on the host: one call of the device for every step of a group.

The newest frames go to the device and actions come back; everything else that a rollout is made of stays there, in a
`Recording`. Axes: T steps, M environments of a group, N of all, K frames of a stack, A actions.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from action_balance import distributions as components
from action_balance.agent.rollout import act, behaviour_logits, policy_view
from action_balance.agent.state import Actor, Policy, Trajectory
from action_balance.config.agent import Config
from action_balance.core.running_stats import RunningMeanStd
from action_balance.distributions import Parts, choices
from action_balance.envs.frame_stack import Frames


class EpisodeEnds(NamedTuple):
    """What a step brought where it ended an episode."""

    where: np.ndarray  # (M,) bool
    next_obs: np.ndarray  # (M, ...), the frames of s_{t+1}


class RolloutBuffer(eqx.Module):
    """What a group has done since its rollout began.

    A decision is short, and every array that it writes to takes a part of it: there are as few as can be.
    """

    frames: Frames  # K - 1 from before, those of T steps, and the one after; all (M, ...)
    last: jax.Array  # (T, M, ...), frames that ended an episode; anything, where none did
    notes: jax.Array  # (T, M, C + 3 + 2 A) float32: action, log beta(a|s), both values, logits of pi, action bonus
    time: jax.Array  # () int32, the step that comes next
    first: jax.Array  # () int32, number of the first environment
    noise: jax.Array  # (T, M, A), Gumbel's, of the whole rollout: drawing it takes longer than a small decision
    parts: Parts = eqx.field(
        static=True
    )  # choices of each of the C components of an action; None: it is a number, C = 1

    @classmethod
    def empty(
        cls,
        stack: Sequence[int],
        envs: int,
        actions: int | tuple[int, ...],
        config: Config,
        first: jax.Array,
        key: jax.Array,
        dtype: jnp.dtype | str = "uint8",
    ) -> Self:
        """Nothing done. Frames before the first are never seen: they are of other episodes.

        Args:
            stack: shape of a stack, (K, ...).
            envs: M.
            actions: A, or the choices of each component.
            config: for T.
            first: number of the first environment.
            key: of the rollout.
            dtype: of a frame.
        """
        depth, *shape = stack
        steps = config.ppo.rollout_steps
        times = depth + steps
        total, parts = choices(actions)
        numbers = len(parts) if parts else 1
        return cls(
            frames=Frames(jnp.zeros((times, envs, *shape), dtype), jnp.zeros((times, envs), bool), depth),
            last=jnp.zeros((steps, envs, *shape), dtype),
            notes=jnp.zeros((steps, envs, numbers + 3 + 2 * total)),
            time=jnp.zeros((), jnp.int32),
            first=first,
            noise=_noise(key, first, (steps, envs, total)),
            parts=parts,
        )

    @property
    def _rest(self) -> jax.Array:
        """What is noted after the action, (T, M, 3 + 2 A)."""
        return self.notes[..., len(self.parts) if self.parts else 1 :]

    @property
    def next_obs(self) -> jax.Array:
        """The frames of s_{t+1} of a whole recording, (T, M, ...)."""
        frame, ended = (x[self.frames.depth :] for x in (self.frames.frame, self.frames.began))
        return jnp.where(ended.reshape(ended.shape + (1,) * (frame.ndim - 2)), self.last, frame)

    @property
    def action(self) -> jax.Array:
        """(T, M) or (T, M, C) int32."""
        return (self.notes[..., : len(self.parts)] if self.parts else self.notes[..., 0]).astype(jnp.int32)

    @property
    def log_prob(self) -> jax.Array:
        """Log beta(a|s), (T, M)."""
        return self._rest[..., 0]

    @property
    def values(self) -> jax.Array:
        """Intrinsic and extrinsic, (T, M, 2)."""
        return self._rest[..., 1:3]

    @property
    def logits(self) -> jax.Array:
        """Of pi, (T, M, A)."""
        return self._rest[..., 3 : 3 + (self._rest.shape[-1] - 3) // 2]

    @property
    def action_bonus(self) -> jax.Array:
        """The bonus vector that was used to act, (T, M, A)."""
        return self._rest[..., 3 + (self._rest.shape[-1] - 3) // 2 :]

    def see(self, frame: jax.Array, ended: EpisodeEnds | None) -> Self:
        """The frame that the next step begins with, and that the one before has brought."""
        place = self.frames.depth - 1 + self.time
        shown = _put(self.frames.frame, frame, place)
        if ended is None:
            none = jnp.zeros(frame.shape[0], bool)
            return replace(self, frames=replace(self.frames, frame=shown, began=_put(self.frames.began, none, place)))
        frames = replace(self.frames, frame=shown, began=_put(self.frames.began, ended.where, place))
        # The step before the first was another rollout's; what is put in its place is overwritten or not looked at.
        return replace(self, frames=frames, last=_put(self.last, ended.next_obs, jnp.maximum(self.time - 1, 0)))

    def stacks(self) -> jax.Array:
        """What is seen now, (M, K, ...)."""
        depth = self.frames.depth
        frame = jax.lax.dynamic_slice_in_dim(self.frames.frame, self.time, depth)
        began = jax.lax.dynamic_slice_in_dim(self.frames.began, self.time, depth)
        return Frames(frame, began, depth).stacks()[0]


def _put(array: jax.Array, row: jax.Array | np.ndarray, place: jax.Array) -> jax.Array:
    return jax.lax.dynamic_update_index_in_dim(array, row.astype(array.dtype), place, axis=0)


def _noise(key: jax.Array, first: jax.Array, shape: tuple[int, int, int]) -> jax.Array:
    """Of the steps of a group, (T, M, A). An environment's luck depends on its number, not on groups."""
    steps, envs, actions = shape

    def one(time: jax.Array, number: jax.Array) -> jax.Array:
        return jax.random.gumbel(jax.random.fold_in(jax.random.fold_in(key, time), number), (actions,))

    of_step = jax.vmap(one, (None, 0))
    return jax.vmap(of_step, (0, None))(jnp.arange(steps), first + jnp.arange(envs))


def decide(
    actor: Actor, recording: RolloutBuffer, frame: jax.Array, ended: EpisodeEnds | None, config: Config
) -> tuple[RolloutBuffer, jax.Array]:
    """One step of a group: what it does next, (M,) or (M, C), and the recording with it.

    Args:
        actor: who decides.
        recording: of the steps before.
        frame: the newest, (M, ...).
        ended: what the step before brought, if it ended an episode.
        config: of the agent.
    """
    recording = recording.see(frame, ended)
    logits, values, bonus = jax.vmap(lambda seen: act(actor, seen, config))(recording.stacks())
    parts = recording.parts
    behaviour = jax.vmap(lambda x, y: behaviour_logits(x, y, actor.coef, config, parts))(logits, bonus)
    # The largest sum of logit and Gumbel noise is a sample of the softmax.
    scores = behaviour + jax.lax.dynamic_index_in_dim(recording.noise, recording.time, keepdims=False)
    action = jax.vmap(lambda one: components.choose(one, parts))(scores)
    chances = jax.vmap(lambda x, y: components.log_prob(x, y, parts))(behaviour, action)
    chosen = action.reshape(len(action), -1).astype(jnp.float32)
    notes = jnp.concatenate([chosen, chances[:, None], values, logits, bonus], axis=-1)
    time = recording.time
    recording = replace(recording, notes=_put(recording.notes, notes, time), time=time + 1)
    return recording, action


def conclude(
    recording: RolloutBuffer, frame: jax.Array, ended: EpisodeEnds | None, key: jax.Array, config: Config
) -> tuple[RolloutBuffer, RolloutBuffer]:
    """A recording with the frame after its last step, and the one that the next rollout goes on with."""
    whole = recording.see(frame, ended)
    frames, depth = whole.frames, whole.frames.depth
    envs, *shape = frame.shape
    actions = whole.parts or whole.logits.shape[-1]
    following = RolloutBuffer.empty((depth, *shape), envs, actions, config, whole.first, key, frames.frame.dtype)
    kept = Frames(
        following.frames.frame.at[: depth - 1].set(frames.frame[-depth:-1]),
        following.frames.began.at[: depth - 1].set(frames.began[-depth:-1]),
        depth,
    )
    return whole, replace(following, frames=kept)


class ActionEvaluation(NamedTuple):
    """What a policy says of a recording that another has made."""

    log_prob: jax.Array  # (T, m), log beta(a|s)
    values: jax.Array  # (T + 1, m, 2), also of what is seen after the last step


def evaluate_actions(
    policy: Policy,
    recording: RolloutBuffer,
    observations: RunningMeanStd,
    coef: jax.Array,
    first: jax.Array,
    count: int,
    config: Config,
) -> ActionEvaluation:
    """What a policy says of some environments of a whole recording.

    Args:
        policy: who is asked.
        recording: whole.
        observations: the statistics that acted.
        coef: c of Eq. 5, as it was when acting. The action bonus, too, is that which was used.
        first: of the environments, in the group.
        count: how many there are.
        config: of the agent.
    """

    def mine(array: jax.Array) -> jax.Array:
        return jax.lax.dynamic_slice_in_dim(array, first, count, axis=1)

    frames, parts = recording.frames, recording.parts
    seen = Frames(mine(frames.frame), mine(frames.began), frames.depth).stacks()

    def ask(one: jax.Array) -> tuple[jax.Array, jax.Array]:
        return policy(policy_view(one, policy, observations, config))

    def chance(logits: jax.Array, bonus: jax.Array, action: jax.Array) -> jax.Array:
        return components.log_prob(behaviour_logits(logits, bonus, coef, config, parts), action, parts)

    logits, values = jax.vmap(jax.vmap(ask))(seen)
    chances = jax.vmap(jax.vmap(chance))(logits[:-1], mine(recording.action_bonus), mine(recording.action))
    return ActionEvaluation(chances, values)


def trajectory(
    recordings: Sequence[RolloutBuffer],
    actor: Actor,
    reward: jax.Array,
    terminated: jax.Array,
    truncated: jax.Array,
    config: Config,
) -> tuple[Trajectory, jax.Array]:
    """The rollout of all groups, (T, N), and both values of what is seen after it, (N, 2).

    Args:
        recordings: of the groups, whole.
        actor: who has acted.
        reward: of each step, (T, N), as the other two.
        config: of the agent.
    """

    def joined(*parts: jax.Array) -> jax.Array:
        return jnp.concatenate(parts, axis=1)

    first = recordings[0]
    names = ("next_obs", "action", "log_prob", "logits", "action_bonus", "values")
    made = {name: joined(*(getattr(one, name) for one in recordings)) for name in names}
    frame = joined(*(one.frames.frame for one in recordings))
    began = joined(*(one.frames.began for one in recordings))
    depth = first.frames.depth
    after = Frames(frame[-depth:], began[-depth:], depth).stacks()[0]
    last_values = jax.vmap(lambda seen: actor.policy(policy_view(seen, actor.policy, actor.observations, config))[1])(
        after
    )
    seen = Frames(frame[:-1], began[:-1], depth)
    return (
        Trajectory(observation=seen, reward=reward, terminated=terminated, truncated=truncated, **made),
        last_values,
    )
