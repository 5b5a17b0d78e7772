"""The search for the settings of every method, in worlds that no study reports."""

KIND = "reproduce tuning"
