"""How Gymnasium environments step together, and what becomes of their action masks."""

from typing import Literal

#: How environments step together: one after the other, each in its own process, or by their own vector class.
Vectorize = Literal["sync", "async", "own"]

#: Whether the action masks of environments that have them are respected.
ActionMasks = Literal["auto", "ignore"]
