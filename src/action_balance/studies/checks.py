"""Checks of settings that several studies share. Importing them loads no JAX."""

from collections.abc import Collection

from action_balance.errors import MOST, UserError, check_name


def check_count(name: str, value: int, least: int = 1) -> None:
    """Raise a `UserError` unless an integer lies between ``least`` and the largest 32-bit integer."""
    if value < least:
        raise UserError(f"{name} must be {least} or more, not {value}")
    if value > MOST:
        raise UserError(f"{name} must be at most {MOST}, not {value}")


def check_seeds(seed: int, seeds: int) -> None:
    """Raise a `UserError` unless ``seeds`` consecutive seeds from ``seed`` on are valid."""
    check_count("--seeds", seeds)
    check_count("--seed", seed, 0)
    if seed + seeds > MOST:
        raise UserError(f"--seed must be below {MOST + 1 - seeds}, not {seed}")


def check_names(kind: str, names: tuple[str, ...], known: Collection[str]) -> None:
    """Raise a `UserError` unless there is a name, every name is known and none is repeated."""
    if not names:
        raise UserError(f"name at least one {kind}: choose from {', '.join(known)}")
    for name in names:
        check_name(kind, name, known)
        if names.count(name) > 1:
            raise UserError(f"{kind} {name} is given twice: name each once")
