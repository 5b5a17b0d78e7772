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
    alone, bit for bit. Axes: S seeds, P places for them, as many on every device.
    """

    def __init__(self, first: int, count: int) -> None:
        self.count = count
        self._one_batch = jax.default_backend() != "cpu"
        # Two cores at least, also for one seed: a program for one device alone is rounded in other places.
        devices = jax.devices()[:1] if self._one_batch else jax.devices()[: max(2, count)]
        places = -(-count // len(devices)) * len(devices)
        self._seed = jnp.arange(places) % count  # (P,), whose state is in a place; the last ones may be spare
        self._spare = jnp.arange(places) >= count  # (P,)
        self.keys = jax.vmap(jax.random.key)(first + self._seed)  # (P,)
        self._mesh = jax.make_mesh((len(devices),), ("seeds",), (AxisType.Auto,), devices=devices)
        self._split = PartitionSpec("seeds")
        self._placed = NamedSharding(self._mesh, self._split)
        self._spare, self.keys = jax.device_put((self._spare, self.keys), self._placed)

    def place(self, states: Any) -> Any:
        """States of the seeds, (S, ...), in their places, (P, ...)."""
        filled = jax.tree.map(lambda leaf: jnp.asarray(leaf)[self._seed], states)
        return jax.device_put(filled, self._placed)

    def cut(self, results: Any) -> Any:
        """What is in the places, (P, ...), without the spare ones: (S, ...)."""
        return jax.tree.map(lambda leaf: leaf[: self.count], results)

    def compile(self, function: Callable[..., Any], arguments: int) -> Callable[..., Any]:
        """A function of one seed's key and as many arguments, for all places; their memory is taken for the result."""
        # The keys are no constants of the program: runs with other seeds are compiled once, where a cache is kept.
        taken = tuple(range(2, 2 + arguments))
        if self._one_batch:
            program = jax.jit(lambda _, *seeds: jax.vmap(function)(*seeds), donate_argnums=taken)
            return lambda *states: program(self._spare, self.keys, *states)

        def one(spare: jax.Array, *seed: Any) -> Any:
            return jax.lax.cond(spare, lambda: _nothing(jax.eval_shape(function, *seed)), lambda: function(*seed))

        def one_by_one(*seeds: Any) -> Any:
            return jax.lax.map(lambda seed: one(*seed), seeds)

        split = self._split
        shared_out = jax.shard_map(one_by_one, mesh=self._mesh, in_specs=split, out_specs=split, check_vma=False)
        # A product shared between cores would be summed up in another order than by one core.
        alone = {"xla_cpu_multi_thread_eigen": False}
        program = jax.jit(shared_out, donate_argnums=taken, compiler_options=alone)
        return lambda *states: program(self._spare, self.keys, *states)


def _nothing(like: Any) -> Any:
    """Zeros of these shapes, also for random keys."""

    def zeros(leaf: jax.ShapeDtypeStruct) -> jax.Array:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jnp.broadcast_to(jax.random.key(0), leaf.shape)
        return jnp.zeros(leaf.shape, leaf.dtype)

    return jax.tree.map(zeros, like)
