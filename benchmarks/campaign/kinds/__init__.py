"""The kinds of cases: one module each, with a function `run` that tries one case in its context."""
