"""Which exploration bonuses count, and what counting is worth."""

KIND = "reproduce bonuses"
