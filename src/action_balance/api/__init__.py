"""Runs in the hands of a program."""
