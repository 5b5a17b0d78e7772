"""Training runs side by side."""
