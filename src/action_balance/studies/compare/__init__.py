"""Training runs side by side."""

KIND = "compare"
