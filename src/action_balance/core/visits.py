"""Counts of visits in 32 bits, for runs of any length. Axes: S rows of a table, b of the visits."""

import jax.numpy as jnp
from jaxtyping import Array, Int, Integer

#: Visits after which a count stays as it is: bonuses are next to nothing by then, and one more rollout still fits.
FULL = 2**30


def add_visits(
    counts: Int[Array, "S *a"], rows: Integer[Array, "*b"], visits: Int[Array, "..."] | int = 1
) -> Int[Array, "S *a"]:
    """Counts with further visits. A count that has reached `FULL` does not change: it would become negative.

    Args:
        counts: How often each row was visited, or each place of it.
        rows: The rows that are visited, each any number of times.
        visits: What each visit adds to its row.

    Returns:
        The counts.
    """
    return counts.at[rows].add(jnp.where(counts[rows] < FULL, visits, 0))
