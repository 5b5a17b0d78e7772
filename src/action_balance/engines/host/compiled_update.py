"""The compiled functions of an agent whose environments run on the host, with an update cut into short pieces.

A GPU executes programs in order: a decision waits behind what was requested before it. So an update consists of pieces
that are short. Axes: T steps, N environments, M environments of a group.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Sharding
from jaxtyping import Array, Bool, Float, Int, Real

from action_balance.algorithms import learner, update
from action_balance.algorithms.base import Metrics, make_algorithm
from action_balance.algorithms.minibatches import UpdateBatch
from action_balance.algorithms.rollout import make_actor
from action_balance.algorithms.state import Actor, Losses, Params, TrainState, Trajectory, UpdateInfo
from action_balance.config.agent import AgentConfig
from action_balance.core.compiling import LEAN, QUICK
from action_balance.engines.host import rollout_buffer
from action_balance.engines.host.packed_tree import PackedTree, TreePacker, map_inside
from action_balance.engines.host.rollout_buffer import ActionEvaluation, EpisodeEnds, RolloutBuffer
from action_balance.envs.mixed import empty_stats
from action_balance.envs.spec import EnvSpec

#: Samples that one piece of an update learns from.
PIECE = 512

#: Arrays with more numbers than this are not packed where networks only decide: copying one for a matrix product would
#: take longer than one more argument.
LARGE = 16_384

#: Host memory that a device can write to.
PINNED = "pinned_host"

#: From a buffer, the newest frames, the episodes that ended and the action masks: the buffer after the next step, and
#: the actions.
Decider = Callable[[RolloutBuffer, Any, EpisodeEnds | None, Any], tuple[RolloutBuffer, Array]]


class _Packers(NamedTuple):
    """Packers of everything that programs are called with for every step or minibatch."""

    actor: TreePacker
    params: TreePacker
    bonus_states: TreePacker


class PackedLearner(NamedTuple):
    """What the minibatches of an update change, and the states of the bonuses, in few arrays."""

    params: PackedTree
    optimizer: optax.OptState  # of packed trees
    bonus_states: PackedTree


class GradAccumulator(eqx.Module):
    """Progress of an update. It counts for itself: sending a number to the device takes as long as a small program."""

    gradients: PackedTree  # of the parts of a minibatch so far
    terms: Float[Array, "L M"]  # losses of each minibatch
    number: Int[Array, ""]  # of the current minibatch
    part: Int[Array, ""]  # the next one
    names: tuple[str, ...] = eqx.field(static=True)  # of the L losses
    largest: tuple[str, ...] = eqx.field(static=True)  # those of which the largest counts

    @classmethod
    def empty(
        cls, params: PackedTree, names: Sequence[str], minibatches: int, largest: tuple[str, ...] = ()
    ) -> "GradAccumulator":
        zero, terms = jnp.zeros((), jnp.int32), jnp.zeros((len(names), minibatches))
        return cls(jax.tree.map(jnp.zeros_like, params), terms, zero, zero, tuple(names), largest)

    @property
    def losses(self) -> Losses:
        return dict(zip(self.names, self.terms, strict=True))

    def with_part(self, gradients: PackedTree, losses: Losses) -> "GradAccumulator":
        before, new = self.terms[:, self.number], jnp.stack([losses[name] for name in self.names])
        now = jnp.where(np.array([name in self.largest for name in self.names]), jnp.maximum(before, new), before + new)
        return replace(
            self,
            gradients=jax.tree.map(jnp.add, self.gradients, gradients),
            terms=self.terms.at[:, self.number].set(now),
            part=self.part + 1,
        )

    def next_minibatch(self) -> "GradAccumulator":
        zeros = jax.tree.map(jnp.zeros_like, self.gradients)
        return replace(self, gradients=zeros, number=self.number + 1, part=jnp.zeros_like(self.part))


#: What a minibatch changes: parameters, progress of the update, state of the optimiser.
_Learned = tuple[PackedTree, GradAccumulator, optax.OptState]


class PreparedUpdate(NamedTuple):
    """An update before its minibatches; where nothing is learned, only the state and the trajectory."""

    state: TrainState  # without what is packed in the learner
    trajectory: Trajectory  # without observations
    batch: UpdateBatch | None = None
    info: UpdateInfo | None = None
    accumulator: GradAccumulator | None = None
    learner: PackedLearner | None = None


def default_sharding() -> Sharding:
    """The device on which arrays are created now, and its own memory."""
    return jnp.zeros(()).sharding


def host_memory(sharding: Sharding) -> Sharding | None:
    """Where a program leaves results that the host waits for; None where the host sees them anyway.

    It is host memory that the device writes to. Otherwise a copy would be made, and only when the host requests it,
    which takes as long as a small program.
    """
    device: Any = next(iter(sharding.device_set))
    pinned = any(memory.kind == PINNED for memory in device.addressable_memories())
    return sharding.with_memory_kind(PINNED) if pinned and device.platform != "cpu" else None


class CompiledUpdate:
    """The functions that run on the device, compiled once for all seeds and groups."""

    def __init__(self, config: AgentConfig, spec: EnvSpec, sharding: Sharding | None = None) -> None:
        self.config, self.algorithm = config, make_algorithm(config, spec)
        self.group = config.envs // config.groups  # M
        shuffled = config.minibatch_of == "samples"
        samples = config.steps_per_update // config.algorithm.minibatches
        each = samples if shuffled else config.envs // config.algorithm.minibatches
        wanted = -(-samples // PIECE)
        #: Parts of a minibatch, each of whole environments, unless samples are shuffled.
        self.parts = min(parts for parts in range(1, each + 1) if each % parts == 0 and parts >= min(wanted, each))
        self.minibatches = config.algorithm.epochs * config.algorithm.minibatches
        most = max(1, PIECE // samples) if shuffled else 1
        #: Minibatches of one call, where they are smaller than a piece.
        self.at_once = max(n for n in range(1, most + 1) if self.minibatches % n == 0)
        #: Calls of an update.
        self.pieces = 2 if config.uniform else 2 + self.minibatches // self.at_once * self.parts
        most = max(1, 2 * PIECE // config.algorithm.rollout_steps)
        #: Environments of a group whose actions are evaluated at a time, and how often that happens.
        self.evaluated_envs = max(envs for envs in range(1, self.group + 1) if self.group % envs == 0 and envs <= most)
        self.action_evaluations = 0 if config.uniform else config.envs // self.evaluated_envs
        self.sharding = sharding or default_sharding()
        self.adam = update.optimizer(config)
        algorithm = self.algorithm
        # Programs that run once, or once per rollout. Those of the paper and the studies keep their rounding.
        device: Any = next(iter(self.sharding.device_set))
        once, rarely = (QUICK, LEAN) if shuffled and device.platform == "cpu" else (None, None)
        self.init = jax.jit(partial(learner.init_agent, algorithm), compiler_options=once)
        self.new_episodes = jax.jit(partial(learner.new_episodes, algorithm))
        self.update_stats = jax.jit(lambda stats, frames: stats.update(frames), donate_argnums=0)
        self.empty = jax.jit(
            lambda first, key: RolloutBuffer.empty(algorithm, self.group, first, key), compiler_options=once
        )
        self._pack = jax.jit(self._pack_actor)
        self._decide = jax.jit(
            self._unpack_and_decide, donate_argnums=1, out_shardings=(None, host_memory(self.sharding))
        )
        self.conclude = jax.jit(
            partial(rollout_buffer.conclude, algorithm=algorithm), donate_argnums=0, compiler_options=rarely
        )
        self.actor = jax.jit(lambda state: make_actor(state, algorithm))
        self.evaluate_actions = jax.jit(
            partial(rollout_buffer.evaluate_actions, count=self.evaluated_envs, algorithm=algorithm)
        )
        self.prepare = jax.jit(self._prepare, compiler_options=rarely)
        self.accumulate = jax.jit(self._accumulate, donate_argnums=3)
        self.apply = jax.jit(self._apply, donate_argnums=(0, 3, 4))
        self.finish = jax.jit(self._finish, compiler_options=rarely)

    @cached_property
    def _packers(self) -> _Packers:
        stats = empty_stats(self.algorithm.spec)
        state = jax.eval_shape(self.init, stats, jax.random.key(0))
        actor = jax.eval_shape(lambda state: make_actor(state, self.algorithm), state)
        return _Packers(TreePacker(actor, LARGE), TreePacker(state.params), TreePacker(state.bonus_states, LARGE))

    def decider(self, actor: Actor) -> Decider:
        """`rollout_buffer.decide` with this actor. It reuses the memory of a buffer for the next one."""
        return partial(self._decide, self._pack(actor))

    def _pack_actor(self, actor: Actor) -> PackedTree:
        return self._packers.actor.pack(actor)

    def _unpack_and_decide(
        self,
        actor: PackedTree,
        buffer: RolloutBuffer,
        frame: Real[Array, "M ..."],
        ends: EpisodeEnds | None,
        mask: Bool[Array, "M A"] | None,
    ) -> tuple[RolloutBuffer, Real[Array, "M *c"]]:
        return rollout_buffer.decide(self._packers.actor.unpack(actor), buffer, frame, ends, mask, self.algorithm)

    def _prepare(
        self,
        state: TrainState,
        actor: Actor,
        buffers: Sequence[RolloutBuffer],
        reward: Float[Array, "T N"],
        terminated: Bool[Array, "T N"],
        truncated: Bool[Array, "T N"],
        evaluations: Sequence[ActionEvaluation] | None = None,
    ) -> PreparedUpdate:
        algorithm = self.algorithm
        made, last_values = rollout_buffer.trajectory(buffers, actor, reward, terminated, truncated, algorithm)
        drift = None
        if evaluations:
            log_prob, values = (jnp.concatenate(parts, axis=1) for parts in zip(*evaluations, strict=True))
            drift = log_prob - made.log_prob
            made, last_values = replace(made, log_prob=log_prob, values=values[:-1]), values[-1]
        # What follows the minibatches does not need images.
        rest = replace(made, observation=jnp.zeros(0), next_obs=jnp.zeros(0))
        if self.config.uniform:
            return PreparedUpdate(state, rest)
        acting_stats = actor.obs_stats if algorithm.spec.normalize_obs else None
        state, batch, info = update.prepare(state, made, last_values, actor.coef, algorithm, acting_stats, drift)
        packed = self.packed_learner(state)
        names = update.loss_names(state.params, algorithm)
        # In few arrays from here on, until `finish`.
        state = eqx.tree_at(lambda state: (state.params, state.optimizer), state, (None, None))
        accumulator = GradAccumulator.empty(packed.params, names, self.minibatches, algorithm.largest)
        return PreparedUpdate(state, rest, batch, info, accumulator, packed)

    def packed_learner(self, state: TrainState) -> PackedLearner:
        """What is trained, and the states of the bonuses, in few arrays."""
        pack = self._packers.params.pack
        return PackedLearner(
            pack(state.params),
            map_inside(pack, Params, state.optimizer),
            self._packers.bonus_states.pack(state.bonus_states),
        )

    def _gradients(
        self, params: PackedTree, bonus_states: PackedTree, batch: UpdateBatch, number: Array, part: Array
    ) -> tuple[Params, Losses]:
        unpacked = self._packers.params.unpack(params), self._packers.bonus_states.unpack(bonus_states)
        return update.gradients(*unpacked, batch, number, self.algorithm, part, self.parts)

    def _accumulate(
        self, params: PackedTree, bonus_states: PackedTree, batch: UpdateBatch, accumulator: GradAccumulator
    ) -> GradAccumulator:
        found, losses = self._gradients(params, bonus_states, batch, accumulator.number, accumulator.part)
        return accumulator.with_part(self._packers.params.pack(found), losses)

    def _apply(
        self,
        params: PackedTree,
        bonus_states: PackedTree,
        batch: UpdateBatch,
        accumulator: GradAccumulator,
        optimizer: optax.OptState,
    ) -> tuple[PackedTree, GradAccumulator, optax.OptState]:
        """The last part of a minibatch, and the optimiser's step; or both of several small minibatches."""
        made = params, accumulator, optimizer
        if self.at_once == 1:
            return self._apply_one(bonus_states, batch, made)

        def step(made: _Learned, _: None) -> tuple[_Learned, None]:
            return self._apply_one(bonus_states, batch, made), None

        return jax.lax.scan(step, made, length=self.at_once)[0]

    def _apply_one(self, bonus_states: PackedTree, batch: UpdateBatch, made: _Learned) -> _Learned:
        params, accumulator, optimizer = made
        accumulator = self._accumulate(params, bonus_states, batch, accumulator)
        found = accumulator.gradients
        if self.config.algorithm.max_grad_norm is not None:
            packer = self._packers.params
            found = packer.pack(update.clip_gradients(packer.unpack(found), self.config))
        changes, optimizer = self.adam.update(found, optimizer)
        return optax.apply_updates(params, batch.decayed(changes)), accumulator.next_minibatch(), optimizer

    def _finish(self, prepared: PreparedUpdate, coef: Float[Array, ""]) -> tuple[TrainState, Metrics]:
        state, trajectory, _, info, accumulator, packed = prepared
        if info is not None and accumulator is not None and packed is not None:
            unpack = self._packers.params.unpack
            info = replace(info, losses=accumulator.losses)
            optimizer = map_inside(unpack, PackedTree, packed.optimizer)
            state = replace(state, params=unpack(packed.params), optimizer=optimizer)
        return learner.conclude(state, trajectory, info, None, coef, self.algorithm)
