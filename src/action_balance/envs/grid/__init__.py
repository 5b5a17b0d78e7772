"""The grid family."""
