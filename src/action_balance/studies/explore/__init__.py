"""The four methods on a user's own map."""

KIND = "explore"
