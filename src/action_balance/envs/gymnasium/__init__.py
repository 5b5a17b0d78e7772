"""The Gymnasium family."""
