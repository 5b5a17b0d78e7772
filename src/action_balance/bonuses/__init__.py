"""Exploration bonuses, one file each, behind the protocol of `bonuses.base`."""
