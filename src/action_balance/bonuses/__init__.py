"""Exploration bonuses, one file each."""
