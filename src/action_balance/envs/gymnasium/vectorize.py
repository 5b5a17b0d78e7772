"""How Gymnasium environments step together."""

from typing import Literal

#: How environments step together: one after the other, each in its own process, or by their own vector class.
Vectorize = Literal["sync", "async", "own"]
