"""The memory that a training needs at least, from the shapes of its arrays: nothing is compiled or allocated for it.

A process that asks for too much is often killed without a word, because systems promise more memory than they have. So
a run is refused before it begins, with the number. The estimate counts only what is certain to be in memory at the same
time; what a program needs in between comes on top of it.
"""

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from action_balance.algorithms import learner
from action_balance.algorithms.base import make_algorithm
from action_balance.config.agent import AgentConfig
from action_balance.config.train import TrainConfig
from action_balance.engines.device.devices import choose_devices, splits_environments
from action_balance.engines.host.rollout_buffer import RolloutBuffer
from action_balance.envs.actions import distribution_of
from action_balance.envs.mixed import empty_stats
from action_balance.envs.spec import EnvSpec
from action_balance.exploration.warmup import warmup_steps
from action_balance.machine import Need, available_memory, check_memory

#: Bytes of a number and of a random key.
NUMBER, KEY = 4, 8

#: Numbers that a unit of a recurrent memory keeps of every step for its gradient: three gates and its state.
GATES = 4


def check_agents(config: TrainConfig, spec: EnvSpec) -> None:
    """Raise a `UserError` if the agents of a run cannot fit into memory, even without training them."""
    check_memory("this run", state_needs(config, spec), _available())


def check_training(config: TrainConfig, spec: EnvSpec) -> None:
    """Raise a `UserError` if a run cannot fit into the memory of the device that trains it."""
    available = _available()
    check_memory("this run", warmup_needs(config), available)
    check_memory("this run", [*state_needs(config, spec), *update_needs(config, spec)], available)


def warmup_needs(config: TrainConfig) -> list[Need]:
    """What the random steps before the first update occupy: on the device, their keys are drawn at once."""
    steps = warmup_steps(config.agent) if config.env.engine == "device" else 0
    return [Need("its warm-up", _share(config).at_once * KEY * steps, "fewer --warmup-rollouts")]


def state_needs(config: TrainConfig, spec: EnvSpec) -> list[Need]:
    """What the agents of a run and their environments occupy, whatever they do."""
    share = _share(config)
    state = jax.eval_shape(partial(_initial, config, spec), jax.random.key(0))
    networks, bonuses = _bytes((state.params, state.optimizer)), _bytes(state.bonus_states)
    rest = _bytes(state) - networks - bonuses
    hidden = "--features" if spec.is_image or spec.is_mixed else "--hidden"
    how = f"observations of {int(np.prod(spec.stats_shape, dtype=object)) * (spec.size // _frame_size(spec)):,} numbers"
    return [
        Need("its networks", share.seeds * share.copies * networks, f"a smaller {hidden}, or fewer --seeds", how),
        Need(
            "its bonuses", share.seeds * bonuses // share.parts, "smaller tables, memories or --dimensions of bonuses"
        ),
        Need("its environments", share.seeds * rest // share.parts, "a smaller world, or fewer --envs or --seeds"),
    ]


def update_needs(config: TrainConfig, spec: EnvSpec) -> list[Need]:
    agent, set_by, share, on_host = config.agent, config.agent.algorithm, _share(config), config.env.engine == "host"
    rollout = (host_rollout if on_host else device_rollout)(agent, spec) // share.parts
    # The environments of every minibatch, its random key, and its losses.
    losses = len(make_algorithm(agent, spec).terms)
    plan = 0 if agent.uniform else set_by.epochs * (NUMBER * agent.envs + (KEY + NUMBER * losses) * set_by.minibatches)
    size = (spec.size if on_host else _frame_size(spec)) * np.dtype(spec.dtype).itemsize
    how = f"{agent.envs:,} environments x {set_by.rollout_steps:,} steps, {size:,} bytes for each observation"
    images = ", a smaller --max-image-side" if on_host and (spec.is_image or spec.is_mixed) else ""
    fewer = f"fewer --envs or --rollout-steps{images}, or fewer --seeds"
    return [
        Need("its rollouts", share.at_once * rollout, fewer, how),
        Need("its minibatches", share.at_once * plan, "fewer --epochs or --minibatches"),
    ]


def device_rollout(agent: AgentConfig, spec: EnvSpec) -> int:
    """Bytes of a rollout on the device, and of what one minibatch keeps of every layer for its gradient."""
    if agent.uniform:  # the rollout is not learned from
        return 0
    sees_images = spec.is_image or spec.is_mixed
    units = agent.recurrent_units * (2 if agent.network.trunks == "separate" and not sees_images else 1)
    # Observation and next observation; what was decided, two values, the reward and the memory.
    frame = _frame_size(spec) * np.dtype(spec.dtype).itemsize
    actions = distribution_of(spec, agent)
    candidates = 0 if spec.lists_actions else actions.scores + actions.draws
    decision = math.prod(actions.action_shape) + 1 + actions.preferences + candidates
    step = 2 * frame + NUMBER * (decision + 3 + units)
    layers = NUMBER * (GATES * units + (0 if sees_images else agent.network.hidden * agent.network.layers))
    return agent.steps_per_update * step + agent.steps_per_update // agent.algorithm.minibatches * layers


def host_rollout(agent: AgentConfig, spec: EnvSpec) -> int:
    """Bytes of the rollouts of environments on the host: one is learned from while the buffers of the next exist."""
    algorithm = make_algorithm(agent, spec)
    empty = partial(RolloutBuffer.empty, algorithm, agent.envs, np.int32(0))
    buffer = _bytes(jax.eval_shape(empty, jax.random.key(0)))
    # What is learned from has every frame as an observation, as one that a step started from, and as one it reached.
    frames = 0 if agent.uniform else spec.shape[0] - 1 + 3 * agent.algorithm.rollout_steps
    return 2 * buffer + agent.envs * frames * _frame_size(spec) * np.dtype(spec.dtype).itemsize


def _frame_size(spec: EnvSpec) -> int:
    """Elements of a frame, in whole numbers of any size."""
    return int(np.prod(spec.frame_shape, dtype=object))


def _available() -> int | None:
    """Bytes that JAX may use on a GPU, or that the machine has left; None if neither is known."""
    limit: int | None = (jax.local_devices()[0].memory_stats() or {}).get("bytes_limit")
    return available_memory() if limit is None else limit


class _Share(NamedTuple):
    """What of a run counts against the memory that is known: that of one GPU, or of all CPU devices together."""

    seeds: int  # whose states are there
    at_once: int  # that are trained at the same time: on a CPU, every core computes one after the other
    copies: int = 1  # of the networks, where devices share the environments of a seed
    parts: int = 1  # of the environments, of which one is there


def _share(config: TrainConfig) -> _Share:
    if config.env.engine == "host":
        return _Share(config.seeds, config.seeds)
    devices = choose_devices(config)
    on_cpu = devices[0].platform == "cpu"
    if splits_environments(config, devices):
        return _Share(config.seeds, 1, len(devices)) if on_cpu else _Share(config.seeds, config.seeds, 1, len(devices))
    each = -(-config.seeds // len(devices))
    return _Share(config.seeds, min(config.seeds, len(devices))) if on_cpu else _Share(each, each)


def _initial(config: TrainConfig, spec: EnvSpec, key: jax.Array) -> Any:
    algorithm = make_algorithm(config.agent, spec)
    state = learner.init_agent(algorithm, empty_stats(spec), key)
    if config.env.engine == "host":
        return state
    return learner.with_environments(state, config.environment(key), algorithm, key)


def _bytes(tree: Any) -> int:
    """Bytes of all arrays of a tree, in whole numbers of any size."""
    return sum(int(np.prod(leaf.shape, dtype=object)) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))
