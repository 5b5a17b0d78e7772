"""What a library written in JAX has to provide: one environment as pure functions, without automatic resets."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from jaxtyping import Array, Bool, Float, PRNGKeyArray, Real, Shaped

from action_balance.envs.spec import EnvSpec

#: Numbers of the episode so far, by name.
Info = dict[str, Float[Array, ""]]

#: State, observation, reward, whether the task ended, whether the library's time limit was reached, and the info.
Transition = tuple[Any, Shaped[Array, "..."], Float[Array, ""], Bool[Array, ""], Bool[Array, ""], Info]

#: Warnings about code of the libraries, which users cannot change: how the message begins, and its kind.
OF_LIBRARIES: tuple[tuple[str, type[Warning]], ...] = (
    ("scatter inputs have incompatible types", FutureWarning),
    ("Explicitly requested dtype .*int64", UserWarning),
    ("Explicitly requested dtype .*float64", UserWarning),
    ("jax.core.pytype_aval_mappings is deprecated", DeprecationWarning),
)


class Adapter(Protocol):
    """One environment of a library. An adapter keeps no state and may be any object; ``vmap`` outside.

    With ``slow_reset = True``, new episodes are computed only for the environments that need one; see `begin`. With
    ``ends_alike = True``, the library terminates tasks at the time limit.
    """

    @property
    def spec(self) -> EnvSpec:
        """One observation, which is not a stack, and the actions."""
        ...

    @property
    def episode_steps(self) -> int:
        """Length of the longest episode."""
        ...

    def reset(self, key: PRNGKeyArray) -> tuple[Any, Shaped[Array, "..."]]:
        """Begin an episode.

        Args:
            key: random key.

        Returns:
            The first state, a tree of arrays, and its observation.
        """
        ...

    def step(self, key: PRNGKeyArray, state: Any, action: Real[Array, "..."]) -> Transition:
        """Take one step.

        Args:
            key: random key.
            state: the current state.
            action: a scalar, or one choice per component.

        Returns:
            What was reached, also where it ended the episode: no new episode begins here.
        """
        ...


@contextmanager
def quiet() -> Iterator[None]:
    """Ignore the known warnings of the libraries while one of them is imported, traced or drawn."""
    with warnings.catch_warnings():
        for message, kind in OF_LIBRARIES:
            warnings.filterwarnings("ignore", message, kind)
        yield
