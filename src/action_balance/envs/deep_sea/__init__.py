"""The deep sea family."""
