"""States without what is the same in all of them.

A library's state often holds constants: the encoding of a goal, the colour of a door. A program that steps thousands of
environments would read and write them at every step, and could not see that they are constants: with a goal that is
known while the program is compiled, for example, only that goal is checked, and not every goal that a library has.
"""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax.extend.core import Jaxpr, Literal
from jaxtyping import Array, Int, PRNGKeyArray, PyTree


class CompactState:
    """Which leaves of a state differ between environments or steps, and the values of all others."""

    def __init__(
        self,
        first: Callable[[PRNGKeyArray], PyTree],
        following: Callable[[PRNGKeyArray, PyTree, Int[Array, ""]], PyTree],
    ) -> None:
        key = jax.random.key(0)
        begin, shape = jax.make_jaxpr(first, return_shape=True)(key)
        self._tree: Any = jax.tree.structure(shape)
        advance, after = jax.make_jaxpr(following, return_shape=True)(key, shape, jax.numpy.zeros((), int))
        found: Any = jax.tree.structure(after)
        if found != self._tree:
            raise TypeError(f"a step returns {found}, not {self._tree}")
        before = advance.jaxpr.invars[1:-1]  # without the key and the action
        kept = [old is new for old, new in zip(before, advance.jaxpr.outvars, strict=True)]
        drawn = _depends_on_arguments(begin.jaxpr)
        self._varies = [of_key or not same for of_key, same in zip(drawn, kept, strict=True)]
        # Compiled, and so without whatever the constants do not depend on.
        constants = jax.jit(lambda: self._select(jax.tree.leaves(first(key)), False))()
        self._constants = [np.asarray(constant) for constant in constants]

    def _select(self, leaves: list[Any], varies: bool) -> list[Any]:
        return [leaf for leaf, one in zip(leaves, self._varies, strict=True) if one is varies]

    def pack(self, state: PyTree) -> tuple[Any, ...]:
        return tuple(self._select(jax.tree.leaves(state), True))

    def unpack(self, packed: tuple[Any, ...]) -> Any:
        varying, constants = iter(packed), iter(self._constants)
        return jax.tree.unflatten(self._tree, [next(varying if varies else constants) for varies in self._varies])


def _depends_on_arguments(jaxpr: Jaxpr) -> list[bool]:
    """Whether each output of a traced function depends on any of its arguments."""
    found = set(jaxpr.invars)
    for equation in jaxpr.eqns:
        if any(not isinstance(var, Literal) and var in found for var in equation.invars):
            found.update(equation.outvars)
    return [not isinstance(var, Literal) and var in found for var in jaxpr.outvars]
