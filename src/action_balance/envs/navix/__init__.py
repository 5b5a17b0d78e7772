"""The family of Navix."""
