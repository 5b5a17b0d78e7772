"""Environments: the contracts of device and host environments, and one folder per family."""
