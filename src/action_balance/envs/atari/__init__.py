"""The Atari family."""
