"""Algorithms: `base` says what one is, and each has a folder."""
