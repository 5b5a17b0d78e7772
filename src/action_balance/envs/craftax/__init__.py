"""The family of Craftax."""
