"""Navix, imported without a warning of one of the libraries that it imports."""

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings(
        "ignore", message="jax.core.pytype_aval_mappings is deprecated", category=DeprecationWarning
    )  # TensorFlow Probability
    import navix

__all__ = ["navix"]
