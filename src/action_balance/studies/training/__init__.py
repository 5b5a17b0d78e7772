"""The page of training runs."""
