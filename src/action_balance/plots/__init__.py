"""Drawing that several studies share."""
