"""Environments that run on the host."""
