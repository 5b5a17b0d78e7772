"""The entropy of the action bonus."""

KIND = "reproduce entropy"
