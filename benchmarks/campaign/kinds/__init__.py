"""The kinds of cases: one module each, with a function `run` that plays one case on its stage."""
