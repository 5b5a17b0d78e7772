"""Text from the command line as the value of a setting, and what a setting expects, in words."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

#: Largest power of ten of a whole number, as for floating-point numbers.
MAX_EXPONENT = 308


def options(kind: Any) -> tuple[Any, ...]:
    """The types of a union; a type alone otherwise."""
    return get_args(kind) if get_origin(kind) in (UnionType, Union) else (kind,)


def choices(kind: Any) -> tuple[str, ...]:
    """The words of a ``Literal``, also where None or numbers are allowed; empty for other types."""
    literals = [one for one in options(kind) if get_origin(one) is Literal]
    return tuple(str(word) for one in literals for word in get_args(one))


def only_choices(kind: Any) -> bool:
    """Whether a setting takes nothing but the words of a ``Literal``, and None."""
    return all(one is NoneType or get_origin(one) is Literal for one in options(kind))


def element(kind: Any) -> Any:
    """The type of the elements of ``tuple[X, ...]``; None for other types."""
    found = get_args(kind)
    return found[0] if get_origin(kind) is tuple and found[-1:] == (...,) else None


def from_text(kind: Any, text: str) -> Any:
    """A value of a type."""
    kinds = options(kind)
    if NoneType in kinds and text.lower() == "none" and not {str, Path} & {*kinds} and text not in choices(kind):
        return None
    for one in kinds:
        try:
            return _from_text(one, text)
        except ValueError:
            continue
    raise ValueError(f"not {expected(kind)}: {text}")


def _from_text(kind: Any, text: str) -> Any:
    if get_origin(kind) is Literal and text in get_args(kind):
        return text
    if get_origin(kind) is tuple:
        parts = text.split(",")
        return tuple(from_text(one, part) for one, part in zip(get_args(kind), parts, strict=True))
    if kind is int:
        return _whole_number(text)
    if kind is bool:
        return {"true": True, "false": False}[text.lower()] if text.lower() in ("true", "false") else _refuse(text)
    return kind(text) if kind in (float, str, Path) else _refuse(text)


def _whole_number(text: str) -> int:
    """``100000``, ``100_000`` or ``1e5``."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return _refuse(text)
    whole = number.is_finite() and number.adjusted() <= MAX_EXPONENT and number == number.to_integral_value()
    return int(number) if whole else _refuse(text)


def _refuse(text: str) -> Any:
    raise ValueError(text)


def as_text(value: Any) -> str:
    """A value as it is typed."""
    if isinstance(value, tuple):
        return " ".join(",".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)
    return str(value)


def expected(kind: Any) -> str:
    """What a setting takes, for an error message."""
    words = {int: "a whole number", float: "a number", str: "a word", bool: "true or false", Path: "a path"}
    if get_origin(kind) is Literal:
        return f"{'one of ' * (len(get_args(kind)) > 1)}{', '.join(get_args(kind))}"
    if get_origin(kind) is tuple:
        example = ",".join(str(number) for number in range(1, len(get_args(kind)) + 1))
        return f"{len(get_args(kind))} values separated by commas, such as {example}"
    *others, last = [words.get(one, "none") if get_origin(one) is None else expected(one) for one in options(kind)]
    return f"{', '.join(others)} or {last}" if others else last
