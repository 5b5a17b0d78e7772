"""The combination lock family."""
