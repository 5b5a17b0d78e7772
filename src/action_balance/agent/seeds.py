"""Several seeds in one program. Axes: S seeds."""

import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec


def use_all_cores() -> None:
    """Let every core be a device of its own, so that seeds can be shared out; without effect once JAX has begun."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if "JAX_NUM_CPU_DEVICES" in os.environ:
        return  # the user has decided
    try:
        jax.config.update("jax_num_cpu_devices", cores)
    except RuntimeError:
        return


class Seeds:
    """Where the seeds are computed. A seed's result does not depend on the others.

    On a GPU all seeds are one batch, where they agree with a seed alone but for rounding. On a CPU every core takes its
    share of the seeds one after the other: small matrices gain nothing from a batch, and a seed has the same result as
    alone, bit for bit.
    """

    def __init__(self, first: int, count: int) -> None:
        self.keys = jax.vmap(jax.random.key)(jnp.arange(first, first + count))  # (S,)
        self._one_batch = jax.default_backend() != "cpu"
        # Two cores at least, also for one seed: a program for one device alone is rounded in other places.
        devices = jax.devices()[:1] if self._one_batch else jax.devices()[: max(2, count)]
        # Every core needs as many: some seeds are computed twice, in the time that the other cores need anyway.
        self._filled = jnp.arange(-(-count // len(devices)) * len(devices)) % count
        self._mesh = jax.make_mesh((len(devices),), ("seeds",), (AxisType.Auto,), devices=devices)
        self._split = PartitionSpec("seeds")
        even = len(self._filled) == count
        self._placed = NamedSharding(self._mesh, self._split if even else PartitionSpec())

    def place(self, states: Any) -> Any:
        """The states, leading axis S, on the devices that step them."""
        return jax.device_put(states, self._placed)

    def compile(self, function: Callable[[jax.Array, Any], Any]) -> Callable[[Any], Any]:
        """A function of one seed's key and state as a function of the placed states of all, whose memory it takes."""
        if self._one_batch:
            return jax.jit(lambda states: jax.vmap(function)(self.keys, states), donate_argnums=0)

        def one_by_one(keys: jax.Array, states: Any) -> Any:
            return jax.lax.map(lambda seed: function(*seed), (keys, states))

        shared_out = jax.shard_map(
            one_by_one, mesh=self._mesh, in_specs=self._split, out_specs=self._split, check_vma=False
        )
        count = len(self.keys)

        def all_seeds(states: Any) -> Any:
            if len(self._filled) == count:
                return shared_out(self.keys, states)
            results = shared_out(*jax.tree.map(lambda leaf: leaf[self._filled], (self.keys, states)))
            return jax.tree.map(lambda leaf: leaf[:count], results)

        return jax.jit(
            all_seeds,
            donate_argnums=0,
            out_shardings=self._placed,
            # A product shared between cores would be summed up in another order than by one core.
            compiler_options={"xla_cpu_multi_thread_eigen": False},
        )
