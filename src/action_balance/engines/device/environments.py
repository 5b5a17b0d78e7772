"""Environments of one seed, split over devices. Axes: S seeds, N environments."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from jaxtyping import Key, PRNGKeyArray, PyTree

from action_balance.config.train import TrainConfig
from action_balance.core.sharding import ENVS

#: From settings to the function from the key of a seed to its first state.
Init = Callable[[TrainConfig], Callable[[PRNGKeyArray], PyTree]]

#: Of an array that every device has as a whole.
NO_AXIS = -1


class Environments:
    """Splits the environments of all seeds over devices: every device steps its environments and learns from its part
    of each minibatch.

    Parameters, optimiser and statistics are the same on all devices: the compiler adds up gradients and sums. The
    result is that of one device up to rounding, because random numbers do not depend on the device that draws them.
    """

    def __init__(self, config: TrainConfig, devices: list[jax.Device], init: Init) -> None:
        self.count = config.seeds
        self._one_batch = devices[0].platform != "cpu"
        self._mesh = jax.make_mesh((len(devices),), (ENVS,), (AxisType.Auto,), devices=devices)
        self._all = NamedSharding(self._mesh, PartitionSpec())
        self._states = jax.tree.map(self._sharding, env_axes(config, init))
        self.keys = self._keys(config.seed)

    def _keys(self, first: int) -> Key[jax.Array, " S"]:
        placed: jax.Array = jax.device_put(jax.vmap(jax.random.key)(first + jnp.arange(self.count)), self._all)
        return placed

    def beginning_with(self, first: int) -> "Environments":
        other = copy(self)
        other.keys = self._keys(first)
        return other

    def _sharding(self, axis: int) -> NamedSharding:
        """The sharding of an array of all seeds, whose first axis is S."""
        return self._all if axis == NO_AXIS else NamedSharding(self._mesh, PartitionSpec(*[None] * (axis + 1), ENVS))

    def place(self, states: PyTree) -> PyTree:
        """Move states of the seeds, (S, ...), to the devices."""
        return jax.device_put(states, self._states)

    def cut(self, results: PyTree) -> PyTree:
        return results

    def compile(self, function: Callable[..., Any], arguments: int) -> Callable[..., Any]:
        def all_seeds(*seeds: Any) -> Any:
            with jax.sharding.use_abstract_mesh(self._mesh.abstract_mesh):
                if self._one_batch:
                    return jax.vmap(function)(*seeds)
                return jax.lax.map(lambda seed: function(*seed), seeds)

        found = (self._states, self._all) if arguments else self._states
        options = {} if self._one_batch else {"xla_cpu_multi_thread_eigen": False}  # the devices are the cores
        donated = tuple(range(1, 1 + arguments))
        return jax.jit(all_seeds, out_shardings=found, donate_argnums=donated, compiler_options=options)

    def run(self, program: Callable[..., Any], *arguments: PyTree) -> PyTree:
        return program(self.keys, *arguments)


def env_axes(config: TrainConfig, init: Init) -> PyTree:
    """Which axis of each array of a state is that of environments: the one that is twice as long for twice as many."""
    key = jax.random.key(0)

    def axis(one: jax.ShapeDtypeStruct, other: jax.ShapeDtypeStruct) -> int:
        longer = [place for place, sizes in enumerate(zip(one.shape, other.shape, strict=True)) if len(set(sizes)) > 1]
        is_envs = len(longer) == 1 and one.shape[longer[0]] == config.agent.envs
        return longer[0] if is_envs else NO_AXIS

    once, twice = jax.eval_shape(init(config), key), jax.eval_shape(init(twice_the_envs(config)), key)
    return jax.tree.map(axis, once, twice)


def twice_the_envs(config: TrainConfig) -> TrainConfig:
    """Settings with twice as many environments, to see what depends on their number."""
    agent = config.agent
    steps = max(agent.steps, 2 * agent.steps_per_update)
    return replace(config, agent=replace(agent, envs=2 * agent.envs, steps=steps))
