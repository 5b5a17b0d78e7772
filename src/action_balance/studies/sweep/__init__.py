"""A search for good settings: many trials, of which most are stopped early, and the best trained with fresh seeds."""

KIND = "sweep"
