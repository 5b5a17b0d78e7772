"""Methods of bonuses that tests call are one program each.

Outside a program, JAX compiles every operation on its own, and again for every shape: some 15 ms each, which was most
of the time of the tests of bonuses. Within a program, as in training, nothing changes.
"""

import pkgutil
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from typing import Any

import equinox as eqx
import jax

#: Methods that compute something, where a bonus has them.
METHODS = ("init", "reward", "scores", "counts", "loss", "metrics", "code", "locate", "outputs", "rareness")


def compile_bonuses() -> None:
    """Let each of `METHODS` be one program, in all built-in bonuses."""
    from action_balance import bonuses
    from action_balance.bonuses.base import Bonus

    for module in pkgutil.iter_modules(bonuses.__path__):
        import_module(f"{bonuses.__name__}.{module.name}")
    for kind in _subclasses(Bonus):
        for name in METHODS:
            if name in vars(kind):
                setattr(kind, name, _one_program(vars(kind)[name]))


def _subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for one in kind.__subclasses__():
        yield one
        yield from _subclasses(one)


def _one_program(function: Callable[..., Any]) -> Callable[..., Any]:
    program = eqx.filter_jit(function)

    @wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        within = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves((arguments, named)))
        return (function if within else program)(*arguments, **named)

    return call
