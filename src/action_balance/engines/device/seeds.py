"""Several seeds in one compiled program. Axes: S seeds, P places for them, equally many on every device."""

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from jaxtyping import Key, PyTree

from action_balance.core.stacked import first, take


class Seeds:
    """Distributes seeds over devices. The result of a seed does not depend on the others.

    On GPUs the seeds of a device are one batch, and agree with a seed alone up to rounding. On a CPU every core
    computes its share of the seeds one after the other: small matrices gain nothing from a batch, and a seed has the
    same result as alone, bit for bit.
    """

    def __init__(self, first: int, count: int, devices: Sequence[jax.Device]) -> None:
        self.count = count
        self._one_batch = devices[0].platform != "cpu"
        places = -(-count // len(devices)) * len(devices)
        self._seed = jnp.arange(places) % count  # (P,), the seed in each place; the last places may be spare
        spare = jnp.arange(places) >= count  # (P,)
        self._mesh = jax.make_mesh((len(devices),), ("seeds",), (AxisType.Auto,), devices=devices)
        self._split = PartitionSpec("seeds")
        self._placed = NamedSharding(self._mesh, self._split)
        self._spare = jax.device_put(spare, self._placed)
        self.keys = self._keys(first)

    def _keys(self, first: int) -> Key[jax.Array, " P"]:
        placed: jax.Array = jax.device_put(jax.vmap(jax.random.key)(first + self._seed), self._placed)
        return placed

    def beginning_with(self, first: int) -> "Seeds":
        other = copy(self)
        other.keys = self._keys(first)
        return other

    def place(self, states: PyTree) -> PyTree:
        """Move states of the seeds, (S, ...), to their places, (P, ...)."""
        return jax.device_put(take(states, self._seed), self._placed)

    def cut(self, results: PyTree) -> PyTree:
        """The results in the places, (P, ...), without the spare ones, (S, ...)."""
        return results if len(self._seed) == self.count else first(results, self.count)

    def compile(self, function: Callable[..., Any], arguments: int) -> Callable[..., Any]:
        # The keys are not constants of the program: with a compilation cache, other seeds are not compiled again.
        donated = tuple(range(2, 2 + arguments))

        def batch(_: jax.Array, *seeds: Any) -> Any:
            return jax.vmap(function)(*seeds)

        traced = jax.jit(function, inline=True)  # once, for its shapes and for the program

        def one(spare: jax.Array, *seed: Any) -> Any:
            return jax.lax.cond(spare, lambda: _zeros(jax.eval_shape(traced, *seed)), lambda: traced(*seed))

        def one_by_one(*seeds: Any) -> Any:
            return jax.lax.map(lambda seed: one(*seed), seeds)

        if self._one_batch and self._mesh.size == 1:
            return jax.jit(batch, donate_argnums=donated)
        split, each = self._split, batch if self._one_batch else one_by_one
        distributed = jax.shard_map(each, mesh=self._mesh, in_specs=split, out_specs=split, check_vma=False)
        # On a CPU, a matrix product that several cores share would be summed in another order.
        options = {} if self._one_batch else {"xla_cpu_multi_thread_eigen": False}
        # Without shardings, JAX replicates empty results (visits, where states cannot be enumerated), and compiles the
        # program again when it gets them back.
        return jax.jit(distributed, out_shardings=self._placed, donate_argnums=donated, compiler_options=options)

    def run(self, program: Callable[..., Any], *arguments: PyTree) -> PyTree:
        return program(self._spare, self.keys, *arguments)


def _zeros(like: PyTree) -> PyTree:
    def zeros(leaf: jax.ShapeDtypeStruct) -> jax.Array:
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jnp.broadcast_to(jax.random.key(0), leaf.shape)
        return jnp.zeros(leaf.shape, leaf.dtype)

    return jax.tree.map(zeros, like)
