"""What the leaves of a saved pytree are: the table that is kept beside their arrays."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from action_balance.files import Data

#: The type of leaves that hold no data, such as an activation function: they are not saved.
NO_DATA = "no data"


@dataclass(frozen=True)
class Leaf:
    """One leaf of a pytree."""

    path: str
    """Its place in the tree, e.g. ``.policy.layers[0].weight``."""
    dtype: str
    """Name of the NumPy dtype; ``key<...>`` for PRNG keys; ``int``, ``float`` or ``bool`` for Python's own numbers."""
    shape: tuple[int, ...]
    """Its shape."""
    key_impl: str | None = None
    """The generator that a PRNG key belongs to."""

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape) if self.shape else ''}"

    def to_dict(self) -> Data:
        """As plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Data) -> "Leaf":
        """From plain data; a ``ValueError`` if they are something else."""
        try:
            leaf = cls(**{**data, "shape": tuple(data["shape"])})
        except (KeyError, TypeError):
            raise ValueError("no leaf") from None
        fine = isinstance(leaf.path, str) and isinstance(leaf.dtype, str) and isinstance(leaf.key_impl, str | None)
        if not fine or not all(type(size) is int and size >= 0 for size in leaf.shape):
            raise ValueError("no leaf")
        return leaf


def difference(found: Sequence[Leaf], expected: Sequence[Leaf]) -> str | None:
    """The first leaf that differs between two tables, in words; None if they agree, in whatever order."""
    here = {leaf.path: leaf for leaf in expected}
    there = {leaf.path: leaf for leaf in found}
    for path in dict.fromkeys([*here, *there]):
        if path not in there:
            return f"{path} is missing from it"
        if path not in here:
            return f"{path} exists only in it"
        if (here[path].dtype, here[path].shape) != (there[path].dtype, there[path].shape):
            return f"{path} is {there[path]} in it but {here[path]} here"
    return None
