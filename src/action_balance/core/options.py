"""Choices that settings and pure functions share; nothing here imports JAX."""

from typing import Literal

#: How a bonus vector is normalised before it is added to the logits (``Normalize`` of Eq. 5).
Normalization = Literal["raw", "l2", "standard"]
