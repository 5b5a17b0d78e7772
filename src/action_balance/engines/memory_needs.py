"""The memory that a training needs at least, from the shapes of its arrays: nothing is compiled or allocated for it.

A process that asks for too much is often killed without a word, because systems promise more memory than they have. So
a run is refused before it begins, with the number. The estimate counts only what is certain to be in memory at the same
time; what a program needs in between comes on top of it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import jax
import numpy as np

from action_balance.agent import learner
from action_balance.agent.context import AgentContext
from action_balance.agent.warmup import warmup_steps
from action_balance.config.agent import AgentConfig, ImageConfig
from action_balance.config.bonuses import bonus_settings
from action_balance.config.train import TrainConfig
from action_balance.engines.device.devices import choose_devices, splits_environments
from action_balance.engines.device.environments import twice_the_envs
from action_balance.envs.mixed import empty_stats
from action_balance.envs.spec import EnvSpec
from action_balance.errors import flag
from action_balance.machine import Need, available_memory, check_memory

#: Bytes of a number, of a random key, and of a flag of a step.
NUMBER, KEY, FLAG = 4, 8, 1

#: Flags that a message names: those that were raised most.
NAMED = 2

#: Numbers that a unit of a recurrent memory keeps of every step for its gradient: three gates and its state.
GATES = 4

#: Losses that PPO logs for every minibatch; those of bonuses come on top.
LOSSES = 6


def check_agents(config: TrainConfig, spec: EnvSpec) -> None:
    """Raise a `UserError` if the agents of a run cannot fit into memory, even without training them."""
    check_memory("this run", state_needs(config, spec), _available())


def check_training(config: TrainConfig, spec: EnvSpec) -> None:
    """Raise a `UserError` if a run cannot fit into the memory of the device that trains it."""
    available = _available()
    check_memory("this run", warmup_needs(config, spec), available)
    check_memory("this run", [*state_needs(config, spec), *update_needs(config, spec)], available)


def warmup_needs(config: TrainConfig, spec: EnvSpec) -> list[Need]:
    """What the random steps before the first update occupy: on the device, their keys are drawn at once."""
    steps = warmup_steps(AgentContext(config.agent, spec)) if config.env.engine == "device" else 0
    return [Need("its warm-up", _share(config).at_once * KEY * steps, "fewer --warmup-rollouts")]


def state_needs(config: TrainConfig, spec: EnvSpec) -> list[Need]:
    """What the agents of a run and their environments occupy, whatever they do."""
    agent, share = config.agent, _share(config)
    state = jax.eval_shape(partial(_initial, config, spec), jax.random.key(0))
    twice = (
        jax.eval_shape(partial(_initial, twice_the_envs(config), spec), jax.random.key(0)) if share.is_split else state
    )

    def size(part: Callable[[Any], Any]) -> int:
        """Bytes of a part of the states; what is there twice with twice the environments belongs to them."""
        whole = _bytes(part(state))
        of_envs = _bytes(part(twice)) - whole
        return share.seeds * (share.copies * (whole - of_envs) + of_envs // share.parts)

    own = {"params", "optimizer", "bonus_states"}
    rest = [one.name for one in fields(state) if one.name not in own]
    networks, world = _networks(agent, spec), _world(config)
    bonuses = [_raised(_bonus(agent, name), prefix=name) for name in agent.bonus_names]
    widths = ["--features", "--bonus-features"] if spec.is_image or spec.is_mixed else ["--hidden", "--bonus-hidden"]
    how = f"observations of {int(np.prod(spec.stats_shape, dtype=object)) * (spec.size // _frame_size(spec)):,} numbers"
    networks_need = _need(
        "its networks",
        size(lambda state: (state.params, state.optimizer)),
        *(networks, *bonuses, world),
        otherwise=widths,
        how=how,
    )
    return [
        networks_need,
        _need("its bonuses", size(lambda state: state.bonus_states), *bonuses, networks, world),
        _need("its environments", size(lambda state: [getattr(state, name) for name in rest]), world),
    ]


def update_needs(config: TrainConfig, spec: EnvSpec) -> list[Need]:
    """What an update occupies besides the agents."""
    agent, ppo, world, share = config.agent, config.agent.ppo, _world(config), _share(config)
    rollout = (device_rollout if config.env.engine == "device" else host_rollout)(agent, spec) // share.parts
    at_once = share.at_once
    # The environments of every minibatch, its random key, and its losses.
    plan = ppo.epochs * (NUMBER * agent.envs + (KEY + NUMBER * LOSSES) * ppo.minibatches)
    length, times = _raised(ppo, "rollout_steps"), _raised(ppo, "epochs", "minibatches")
    size = (spec.size if config.env.engine == "host" else _frame_size(spec)) * np.dtype(spec.dtype).itemsize
    how = f"{agent.envs:,} environments x {ppo.rollout_steps:,} steps, {size:,} bytes for each observation"
    flags = ["--envs", "--rollout-steps"]
    flags += ["--max-image-side"] if config.env.engine == "host" and (spec.is_image or spec.is_mixed) else []
    return [
        _need("its rollouts", at_once * rollout, world, length, _networks(agent, spec), otherwise=flags, how=how),
        _need("its minibatches", 0 if agent.uniform else at_once * plan, times, world),
    ]


def device_rollout(agent: AgentConfig, spec: EnvSpec) -> int:
    """Bytes of a rollout on the device, and of what one minibatch keeps of every layer for its gradient."""
    if agent.uniform:  # the rollout is not learned from
        return 0
    frame = _frame_size(spec) * np.dtype(spec.dtype).itemsize
    cells = 2 if agent.net.trunks == "separate" and not (spec.is_image or spec.is_mixed) else 1
    units = agent.recurrent_units * cells
    # Observation and next observation; action, log-probability, logits, two values, the reward and the memory.
    step = 2 * frame + NUMBER * (len(spec.nvec) + 1 + sum(spec.nvec) + 2 + 1 + units)
    layers = 0 if spec.is_image or spec.is_mixed else NUMBER * agent.net.hidden * agent.net.layers
    layers += NUMBER * GATES * units
    return agent.steps_per_update * step + agent.steps_per_update // agent.ppo.minibatches * layers


def host_rollout(agent: AgentConfig, spec: EnvSpec) -> int:
    """Bytes of the rollouts of environments on the host: one is learned from while the buffers of the next exist."""
    times, depth, envs, choices = agent.ppo.rollout_steps, spec.shape[0], agent.envs, sum(spec.nvec)
    frame = _frame_size(spec) * np.dtype(spec.dtype).itemsize
    frames = (depth + times) * (frame + FLAG) + times * frame  # and those that ended episodes
    notes = NUMBER * times * (len(spec.nvec) + 3 + 2 * choices)  # see `RolloutBuffer`
    noise = NUMBER * times * choices
    # What is learned from has every frame as an observation, as one that a step started from, and as one it reached.
    learned = 0 if agent.uniform else (depth - 1 + 3 * times) * frame
    return envs * (2 * (frames + notes + noise) + learned)


def _frame_size(spec: EnvSpec) -> int:
    """Elements of a frame, in whole numbers of any size."""
    return int(np.prod(spec.frame_shape, dtype=object))


def _available() -> int | None:
    """Bytes that JAX may use on a GPU, or that the machine has left; None if neither is known."""
    limit: int | None = (jax.local_devices()[0].memory_stats() or {}).get("bytes_limit")
    return available_memory() if limit is None else limit


def _need(what: str, size: int, *flags: Mapping[str, float], otherwise: Sequence[str] = (), how: str = "") -> Need:
    """A part, with the flags that were raised most; each is given with how many times its default it is."""
    known = {name: times for one in flags for name, times in one.items()}
    named = sorted(known, key=lambda name: -known[name])[:NAMED] or list(otherwise)
    return Need(what, size, f"a smaller {' or '.join(named)}" if named else "a machine with more", how)


def _networks(agent: AgentConfig, spec: EnvSpec) -> dict[str, float]:
    image = _raised(agent.image) if spec.is_image or spec.is_mixed else {}
    image |= _raised(agent, "memory_units") if agent.recurrent_units else {}
    return image | (_raised(agent.net) if not spec.is_image else {})


def _world(config: TrainConfig) -> dict[str, float]:
    """The flags of what every part depends on: the environment, how many there are, and the seeds."""
    return _raised(config.env) | _raised(config.agent, "envs") | _raised(config, "seeds")


@dataclass(frozen=True)
class _Share:
    """What of a run counts against the memory that is known: that of one GPU, or of all CPU devices together."""

    seeds: int
    """Seeds whose states are there."""
    at_once: int
    """Those that are trained at the same time: on a CPU, every core computes one after the other."""
    is_split: bool = False
    """Whether devices share the environments of a seed."""
    copies: int = 1
    """Copies of what all environments share."""
    parts: int = 1
    """Parts of the environments, of which one is there."""


def _share(config: TrainConfig) -> _Share:
    if config.env.engine == "host":
        return _Share(config.seeds, config.seeds)
    devices = choose_devices(config)
    is_split, on_cpu = splits_environments(config, devices), devices[0].platform == "cpu"
    if is_split:
        copies, parts = (len(devices), 1) if on_cpu else (1, len(devices))
        return _Share(config.seeds, 1 if on_cpu else config.seeds, True, copies, parts)
    each = -(-config.seeds // len(devices))
    return _Share(config.seeds, min(config.seeds, len(devices))) if on_cpu else _Share(each, each)


def _initial(config: TrainConfig, spec: EnvSpec, key: jax.Array) -> Any:
    """An agent with its environments, without the warm-up."""
    context = AgentContext(config.agent, spec)
    state = learner.init_agent(context, empty_stats(spec), key)
    if config.env.engine == "host":
        return state
    return learner.with_environments(state, config.environment(key), context, key)


def _bytes(tree: Any) -> int:
    """Bytes of all arrays of a tree, in whole numbers of any size."""
    return sum(int(np.prod(leaf.shape, dtype=object)) * leaf.dtype.itemsize for leaf in jax.tree.leaves(tree))


def _bonus(agent: AgentConfig, name: str) -> Any:
    """The settings of a bonus; None if it has none."""
    kind = bonus_settings(name)
    return kind(**agent.settings_of(name)) if kind else None


def _raised(settings: Any, *names: str, prefix: str = "") -> dict[str, float]:
    """The flags of whole numbers that somebody has raised, each with how many times its default it is."""
    taken, found = {one.name for one in fields(ImageConfig)} if prefix else set(), {}
    for one in fields(settings) if settings is not None else ():
        value = getattr(settings, one.name)
        if isinstance(value, int) and (not names or one.name in names):
            times = value / one.default if isinstance(one.default, int) and one.default else float(value > 0)
            if times > 1 or one.default in (None, 0):
                found[flag(f"{prefix}_{one.name}" if one.name in taken else one.name)] = times
    return {name: times for name, times in found.items() if times}
