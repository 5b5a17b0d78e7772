"""What the agent observes of its cell; apart from the world, because settings are read without NumPy."""

from typing import Literal

#: What is observed of a cell: x and y scaled to [-1, 1], or both one-hot.
CellView = Literal["coordinates", "one-hot"]
