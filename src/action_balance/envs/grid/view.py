"""How a cell of a grid world is observed."""

from typing import Literal

#: Observation of a cell: x and y scaled to [-1, 1], or both one-hot.
View = Literal["coordinates", "one-hot"]
