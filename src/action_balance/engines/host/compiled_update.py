"""An update in pieces, and all else that the device does where environments run on the host.

A GPU does one thing after the other: a decision waits behind what was asked for before it. So an update is cut into
pieces that are short. Axes: T steps, N environments, M of a group.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import Sharding

from action_balance.agent import learner as train
from action_balance.agent import update
from action_balance.agent.learner import Episodes, Metrics
from action_balance.agent.rollout import action_coef
from action_balance.agent.state import Actor, Params, TrainState, Trajectory
from action_balance.agent.update import Losses, UpdateBatch, UpdateInfo
from action_balance.config.agent import Config
from action_balance.core.running_stats import RunningMeanStd
from action_balance.engines.host import rollout_buffer as recordings
from action_balance.engines.host.packed_tree import PackedTree, TreePacker, inside
from action_balance.engines.host.rollout_buffer import ActionEvaluation, EpisodeEnds, RolloutBuffer

#: Samples that are learned from at a time.
PIECE = 512

#: Numbers of an array of a network above which it stays by itself where networks only decide: a copy of it, for a
#: product of matrices, would take longer than one more argument.
LARGE = 16_384

#: Memory of the host that a device can write to.
PINNED = "pinned_host"

#: Of a recording, the newest frames and what ended: the recording after the next step, and the actions.
Decider = Callable[[RolloutBuffer, Any, EpisodeEnds | None], tuple[RolloutBuffer, jax.Array]]


class _Packers(NamedTuple):
    """Of all that programs are called with for every step or minibatch."""

    actor: TreePacker
    params: TreePacker
    target_params: TreePacker


class PackedLearner(NamedTuple):
    """What the minibatches of an update change, and the targets, in few arrays."""

    params: PackedTree
    optimizer: optax.OptState  # of bundles
    target_params: PackedTree


class GradAccumulator(eqx.Module):
    """How far an update is. It counts itself: sending a number to the device takes as long as a small program."""

    gradients: PackedTree  # of the parts of a minibatch so far
    terms: jax.Array  # (fields of `Losses`, epochs * minibatches)
    number: jax.Array  # () int32, of the minibatch under way
    part: jax.Array  # () int32, that comes next

    @classmethod
    def nothing(cls, params: PackedTree, minibatches: int) -> Self:
        """At the beginning of an update."""
        zero = jnp.zeros((), jnp.int32)
        terms = jnp.zeros((len(fields(Losses)), minibatches))
        return cls(jax.tree.map(jnp.zeros_like, params), terms, zero, zero)

    @property
    def losses(self) -> Losses:
        """Of all minibatches so far, each (epochs * minibatches,)."""
        return Losses(*self.terms)

    def with_part(self, gradients: PackedTree, losses: Losses) -> Self:
        """With one more part of the minibatch."""
        before = Losses(*self.terms[:, self.number])
        now = jax.tree.map(jnp.add, before, losses)
        now = replace(now, furthest_ratio=jnp.maximum(before.furthest_ratio, losses.furthest_ratio))
        return replace(
            self,
            gradients=jax.tree.map(jnp.add, self.gradients, gradients),
            terms=self.terms.at[:, self.number].set(jnp.stack(jax.tree.leaves(now))),
            part=self.part + 1,
        )

    def after_minibatch(self) -> Self:
        """At the beginning of the next minibatch."""
        zeros = jax.tree.map(jnp.zeros_like, self.gradients)
        return replace(self, gradients=zeros, number=self.number + 1, part=jnp.zeros_like(self.part))


def usual_place() -> Sharding:
    """The device on which arrays are made now, and its own memory."""
    return jnp.zeros(()).sharding


def for_the_host(place: Sharding) -> Sharding | None:
    """Where a program of this place leaves what the host waits for; None where the host sees it anyway.

    It is memory of the host that the device writes to. Otherwise a copy is made, and only when the host asks for it,
    which takes as long as a small program.
    """
    device: Any = next(iter(place.device_set))
    pinned = any(memory.kind == PINNED for memory in device.addressable_memories())
    return place.with_memory_kind(PINNED) if pinned and device.platform != "cpu" else None


class CompiledUpdate:
    """What runs on the device, compiled once for all seeds and groups."""

    def __init__(
        self,
        config: Config,
        observation_shape: tuple[int, ...],
        actions: int | tuple[int, ...],
        dtype: str = "uint8",
        place: Sharding | None = None,
    ) -> None:
        """For stacks of frames of this shape, (K, ...), and type; of images, or of vectors, which are float32.

        They run at this place, or at the usual one. States have to be committed to it: what comes after a decision that
        leaves something to the host is, and programs would be compiled for arrays of both kinds.
        """
        self.config = config
        self.stack, self.actions, self.dtype = observation_shape, actions, dtype
        self.group = config.envs // config.groups  # M
        each = config.envs // config.ppo.minibatches
        wanted = -(-each * config.ppo.rollout_steps // PIECE)
        #: Parts of a minibatch, whole environments each.
        self.parts = min(parts for parts in range(1, each + 1) if each % parts == 0 and parts >= min(wanted, each))
        self.minibatches = config.ppo.epochs * config.ppo.minibatches
        #: Calls that an update takes.
        self.pieces = 2 if config.traits.uniform else 2 + self.minibatches * self.parts
        most = max(1, 2 * PIECE // config.ppo.rollout_steps)
        #: Environments of a group that are appraised at a time, and how often that takes.
        self.evaluated_envs = max(envs for envs in range(1, self.group + 1) if self.group % envs == 0 and envs <= most)
        self.action_evaluations = 0 if config.traits.uniform else config.envs // self.evaluated_envs
        self.place = place or usual_place()
        self.adam = update.optimizer(config)
        self.begin = jax.jit(self._begin)
        self.update = jax.jit(RunningMeanStd.update, donate_argnums=0)
        self.empty = jax.jit(self._empty)
        self._packed = jax.jit(self._pack)
        self._decide = jax.jit(
            self._unbundle_and_decide, donate_argnums=1, out_shardings=(None, for_the_host(self.place))
        )
        self.conclude = jax.jit(partial(recordings.conclude, config=config), donate_argnums=0)
        self.actor = jax.jit(lambda state: state.actor(action_coef(config, state.updates)))
        self.evaluate_actions = jax.jit(partial(recordings.evaluate_actions, count=self.evaluated_envs, config=config))
        self.prepare = jax.jit(self._prepare)
        self.gather = jax.jit(self._gather, donate_argnums=3)
        self.apply = jax.jit(self._apply, donate_argnums=(0, 3, 4))
        self.finish = jax.jit(self._finish)

    def _empty(self, first: jax.Array, key: jax.Array) -> RolloutBuffer:
        """Of a group that begins with this environment."""
        return RolloutBuffer.empty(self.stack, self.group, self.actions, self.config, first, key, self.dtype)

    @cached_property
    def _packers(self) -> _Packers:
        moments = RunningMeanStd.empty(self.stack[1:])
        state = jax.eval_shape(self._begin, moments, jax.random.key(0))
        actor = jax.eval_shape(lambda state: state.actor(jnp.zeros(())), state)
        return _Packers(TreePacker(actor, LARGE), TreePacker(state.params), TreePacker(state.target_params, LARGE))

    def decider(self, actor: Actor) -> Decider:
        """`recording.decide` with this actor. It gives back the memory of a recording as that of the next."""
        return partial(self._decide, self._packed(actor))

    def _pack(self, actor: Actor) -> PackedTree:
        return self._packers.actor.pack(actor)

    def _unbundle_and_decide(
        self, actor: PackedTree, recording: RolloutBuffer, frame: jax.Array, ended: EpisodeEnds | None
    ) -> tuple[RolloutBuffer, jax.Array]:
        return recordings.decide(self._packers.actor.unpack(actor), recording, frame, ended, self.config)

    @property
    def normalizes_obs(self) -> bool:
        """Whether the policy sees whitened frames: nobody knows the scale of a vector."""
        return self.dtype == "float32"

    def _begin(self, moments: RunningMeanStd, key: jax.Array) -> TrainState:
        """A fresh agent."""
        return train.begin_on_host(self.stack, self.actions, moments, self.config, key, self.normalizes_obs)

    def _prepare(
        self,
        state: TrainState,
        actor: Actor,
        whole: Sequence[RolloutBuffer],
        reward: jax.Array,
        terminated: jax.Array,
        truncated: jax.Array,
        action_evaluations: Sequence[ActionEvaluation] | None = None,
    ) -> tuple[
        TrainState, Trajectory, UpdateBatch | None, UpdateInfo | None, GradAccumulator | None, PackedLearner | None
    ]:
        made, last_values = recordings.trajectory(whole, actor, reward, terminated, truncated, self.config)
        drift = None
        if action_evaluations:
            log_prob, values = (jnp.concatenate(parts, axis=1) for parts in zip(*action_evaluations, strict=True))
            drift = log_prob - made.log_prob
            made, last_values = replace(made, log_prob=log_prob, values=values[:-1]), values[-1]
        # What comes after the minibatches has no need of images.
        rest = replace(made, observation=jnp.zeros(0), next_obs=jnp.zeros(0))
        if self.config.traits.uniform:
            return state, rest, None, None, None, None
        index = jnp.zeros(made.reward.shape, jnp.int32)
        state, lesson, learning = update.prepare(
            state,
            made,
            index,
            last_values,
            actor.coef,
            self.config,
            actor.observations if self.normalizes_obs else None,
            drift,
        )
        packed_learner = self.packed_learner(state)
        # In few arrays from here on, until `finish`.
        state = eqx.tree_at(lambda state: (state.params, state.optimizer), state, (None, None))
        learning = eqx.tree_at(lambda learning: learning.losses, learning, None)
        return (
            state,
            rest,
            lesson,
            learning,
            GradAccumulator.nothing(packed_learner.params, self.minibatches),
            packed_learner,
        )

    def packed_learner(self, state: TrainState) -> PackedLearner:
        """Who learns, in few arrays."""
        params = self._packers.params
        return PackedLearner(
            params.pack(state.params),
            inside(params.pack, Params, state.optimizer),
            self._packers.target_params.pack(state.target_params),
        )

    def _gather(
        self, params: PackedTree, targets: PackedTree, lesson: UpdateBatch, gathered: GradAccumulator
    ) -> GradAccumulator:
        found, losses = update.gradients(
            self._packers.params.unpack(params),
            self._packers.target_params.unpack(targets),
            lesson,
            gathered.number,
            self.config,
            gathered.part,
            self.parts,
        )
        return gathered.with_part(self._packers.params.pack(found), losses)

    def _apply(
        self,
        params: PackedTree,
        targets: PackedTree,
        lesson: UpdateBatch,
        gathered: GradAccumulator,
        optimizer: optax.OptState,
    ) -> tuple[PackedTree, GradAccumulator, optax.OptState]:
        """The last part of a minibatch, and the step that all its parts make."""
        gathered = self._gather(params, targets, lesson, gathered)
        changes, optimizer = self.adam.update(gathered.gradients, optimizer)
        return optax.apply_updates(params, changes), gathered.after_minibatch(), optimizer

    def _finish(
        self,
        state: TrainState,
        made: Trajectory,
        learning: UpdateInfo | None,
        gathered: GradAccumulator | None,
        packed_learner: PackedLearner | None,
        coef: jax.Array,
        first_reward: jax.Array,
    ) -> tuple[TrainState, Metrics]:
        state = replace(state, first_reward=first_reward, updates=state.updates + 1)
        if learning is not None and gathered is not None and packed_learner is not None:
            unpack = self._packers.params.unpack
            learning = replace(learning, losses=gathered.losses)
            state = replace(
                state,
                params=unpack(packed_learner.params),
                optimizer=inside(unpack, PackedTree, packed_learner.optimizer),
            )
        unknown = Episodes(*(jnp.zeros(()) for _ in Episodes._fields))  # the host knows them
        return state, train.metrics(state, made, learning, unknown, coef, self.config)
