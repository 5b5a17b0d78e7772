"""Environments that step on the host."""
