"""Sizes that a deep sea can have."""

from action_balance.errors import UserError

#: The largest N: an observation has N x N numbers.
LARGEST = 1000

#: The most distractors: as many numbers as the largest sea has cells.
MAX_DISTRACTORS = LARGEST * LARGEST


def check_size(size: int, distractors: int = 0) -> None:
    """Raise a `UserError` if the sea has nothing to explore, or does not fit into memory."""
    if size < 2:
        raise UserError(f"a deep sea of size {size} has nothing to explore: use 2 or more")
    if size > LARGEST:
        raise UserError(f"a deep sea of size {size} does not fit into memory: use {LARGEST} or less")
    if not 0 <= distractors <= MAX_DISTRACTORS:
        raise UserError(f"--distractors must be 0 to {MAX_DISTRACTORS:,}, not {distractors:,}")
