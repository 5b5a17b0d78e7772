"""The family of gymnax, and of everything with its interface."""
