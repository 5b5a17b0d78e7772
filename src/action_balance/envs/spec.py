"""What an agent sees and does, kept with its run: so that an environment that has changed since is told as such."""

import textwrap
from dataclasses import asdict, dataclass
from typing import Any

from action_balance.errors import UserError
from action_balance.files import Data

#: Letters of the parts of an observation that are named.
SHOWN = 120


@dataclass(frozen=True)
class EnvSpec:
    """What networks are made for."""

    shape: tuple[int, ...]
    """Of a frame."""
    dtype: str
    """Of a frame."""
    parts: tuple[tuple[str, int], ...]
    """Names of the parts of a vector in their order, and how many numbers each has; none of an image."""
    actions: int | tuple[int, ...]
    """A, or the choices of each component."""

    def as_data(self) -> Data:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Any) -> "EnvSpec | None":
        """From plain data; None where it is missing or damaged, as in runs that kept nothing of it."""
        try:
            shape, dtype, parts, actions = (data[name] for name in ("shape", "dtype", "parts", "actions"))
            pairs = tuple((str(name), int(count)) for name, count in parts)
            return cls(tuple(shape), str(dtype), pairs, tuple(actions) if isinstance(actions, list) else int(actions))
        except (KeyError, TypeError, ValueError):
            return None

    def check(self, before: "EnvSpec | None", name: str) -> None:
        """A `UserError` where an agent was made for something else.

        Args:
            before: what it was made for, if that is known.
            name: of the environment.
        """
        if before is None or before == self:
            return
        same = (before.shape, before.dtype, before.actions) == (self.shape, self.dtype, self.actions)
        raise UserError(
            f"{name} has changed: the run was trained with {before._describe(same)}, and the environment now has "
            f"{self._describe(same)}; put it back as it was, or train anew in another --out"
        )

    def _describe(self, parts: bool) -> str:
        many = f"{self.actions} actions" if isinstance(self.actions, int) else f"actions of {self.actions} choices"
        listed = ", ".join(f"{name or 'observation'} {count}" for name, count in self.parts)
        inside = f" ({textwrap.shorten(listed, SHOWN, placeholder=' ...')})" if parts else ""
        return f"observations {self.shape} {self.dtype}{inside} and {many}"
