"""New episodes of many environments, of which few begin one at a time. Axes: N environments, C of a chunk.

With ``vmap``, a choice between the state that was reached and a new one computes a new one for every environment at
every step. That is the fastest way where a new episode costs little. Where a library generates a whole world for each,
it would take most of the time: there, new episodes are computed only for the environments that need one, in chunks of
a fixed size until all of them have one. Every environment has a random key of its own, so that both ways begin the same
episodes, unless the program of a library rounds differently in batches of another size.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Key, PRNGKeyArray, PyTree

#: Begins one episode with a random key.
Begin = Callable[[PRNGKeyArray], PyTree]

#: Environments per chunk: one in so many.
SHARE = 16


def begin_if(ended: Bool[Array, ""], begin: Begin, key: PRNGKeyArray, reached: PyTree) -> PyTree:
    """A new episode where one ended, computed for every environment."""
    return jax.tree.map(lambda new, old: jnp.where(ended, new, jnp.asarray(old, new.dtype)), begin(key), reached)


def begin_few(ended: Bool[Array, ""], begin: Begin, key: PRNGKeyArray, reached: PyTree) -> PyTree:
    """A new episode where one ended, computed for few environments at a time; as `begin_if` otherwise."""
    types = jax.eval_shape(begin, key)
    reached = jax.tree.map(lambda old, new: jnp.asarray(old, new.dtype), reached, types)
    one = jax.tree.map(lambda leaf: leaf[None], (ended, key, reached))
    return jax.tree.map(lambda leaf: leaf[0], _begin_chunks(begin)(*one))


def _begin_chunks(begin: Begin) -> Callable[..., PyTree]:
    """Begin episodes of N environments; under ``vmap``, all axes of environments become one."""

    @jax.custom_batching.custom_vmap
    def chunks(ended: Bool[Array, " N"], keys: Key[Array, " N"], reached: PyTree) -> PyTree:
        number, size = len(ended), max(1, len(ended) // SHARE)
        # Those that ended come first; behind the last one, places that do not exist and are not written.
        order = jnp.pad(jnp.argsort(~ended), (0, size), constant_values=number)
        last = ended.sum()

        def one_chunk(carry: tuple[Array, PyTree]) -> tuple[Array, PyTree]:
            begun, state = carry
            places = jnp.arange(size) + begun
            members = jnp.where(places < last, order[places], number)
            new = jax.vmap(begin)(keys[jnp.minimum(members, number - 1)])
            state = jax.tree.map(lambda old, leaf: old.at[members].set(leaf, mode="drop"), state, new)
            return begun + size, state

        return jax.lax.while_loop(lambda carry: carry[0] < last, one_chunk, (jnp.zeros_like(last), reached))[1]

    @chunks.def_vmap
    def _(axis: int, is_batched: Any, *arguments: PyTree) -> tuple[PyTree, PyTree]:
        def whole(leaf: Array, batched: bool) -> Array:
            return leaf if batched else jnp.broadcast_to(leaf, (axis, *leaf.shape))

        batch = jax.tree.map(whole, arguments, tuple(is_batched))
        merged = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), batch)
        found = _begin_chunks(begin)(*merged)
        split = jax.tree.map(lambda leaf: leaf.reshape(axis, -1, *leaf.shape[1:]), found)
        return split, jax.tree.map(lambda _: True, split)

    return chunks
