"""Random keys derived from names: what one part draws does not depend on which other parts exist."""

import zlib

import jax
from jaxtyping import PRNGKeyArray


def named_key(key: PRNGKeyArray, name: str) -> PRNGKeyArray:
    """The key of a part.

    Args:
        key: Key of the whole.
        name: Name of the part.

    Returns:
        A key that depends on both, and on nothing else.
    """
    return jax.random.fold_in(key, zlib.crc32(name.encode()))
