"""The four methods on a map of the user's."""
