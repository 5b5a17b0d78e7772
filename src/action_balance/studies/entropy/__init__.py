"""The entropy of the action bonus."""
