"""The command line: one file per command, and the parser that they share."""
