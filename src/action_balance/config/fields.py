"""What the fields of settings may be: their types and metadata say it, and it is checked here wherever a value is from.

The metadata of a field may hold a range (`number`) or names (`known`), and for the command line a ``flag`` with another
name, a ``metavar``, ``parse`` (makes the value from all words after the flag), ``action`` (``"append"``: the flag takes
one word and may be given several times) and ``positional``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, field, fields
from decimal import Decimal, InvalidOperation
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from action_balance.errors import MAX, UserError, check_name, check_range, flag

#: Largest power of ten of a whole number, as for floating-point numbers.
MAX_EXPONENT = 308

_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a word",
    bool: "true or false",
    Path: "a path",
    NoneType: "none",
}


def number(default: Any, low: float = 0, high: float = 3e38, *, above: bool = False) -> Any:
    """A field with a range; with ``above``, ``low`` itself is excluded."""
    return field(default=default, metadata={"range": {"low": low, "high": high, "above": above}})


def count(default: Any, high: float = MAX) -> Any:
    """A field with a number of things, of which there is at least one."""
    return number(default, 1, high)


def known(default: str | None, names: Iterable[str], *, own: bool = False) -> Any:
    """A field with a known name, or also ``MODULE:CLASS`` of the user's ``own``."""
    return field(default=default, metadata={"names": names, "own": own})


class Settings:
    """Base of frozen dataclasses whose fields are checked whenever one is made."""

    def __post_init__(self) -> None:
        check(type(self), vars(self))


@cache
def type_hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def check(kind: Any, values: Mapping[str, Any]) -> None:
    """Raise a `UserError` that names the flag of the first value that its field does not take."""
    for one in fields(kind):
        if one.name in values:
            _check(one, type_hints(kind)[one.name], values[one.name])


def _check(one: Field[Any], kind: Any, value: Any) -> None:
    label = str(one.metadata.get("metavar", one.name)) if is_required(one) else flag_of(one)
    names = one.metadata.get("names")
    if not fits(kind, value):
        if isinstance(value, str) and only_choices(kind):
            check_name(label, value, choices(kind))
        raise UserError(f"{label} must be {describe(kind)}, not {value!r:.60}")
    if isinstance(value, Real) and not isinstance(value, bool):
        check_range(label, value, **one.metadata.get("range", {"low": -3e38}))
    if names is not None and value is not None and not (one.metadata["own"] and ":" in value):
        check_name(label, value, names)


def flag_of(one: Field[Any]) -> str:
    return flag(str(one.metadata.get("flag", one.name)))


def is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def options(kind: Any) -> tuple[Any, ...]:
    """The types of a union; a type alone otherwise."""
    return get_args(kind) if get_origin(kind) in (UnionType, Union) else (kind,)


def choices(kind: Any) -> tuple[str, ...]:
    """The words of a ``Literal``, also where None or numbers are allowed; empty for other types."""
    literals = [one for one in options(kind) if get_origin(one) is Literal]
    return tuple(str(word) for one in literals for word in get_args(one))


def only_choices(kind: Any) -> bool:
    """Whether a field takes nothing but the words of a ``Literal``, and None."""
    return all(one is NoneType or get_origin(one) is Literal for one in options(kind))


def element(kind: Any) -> Any:
    """The type of the elements of ``tuple[X, ...]``; None for other types."""
    found = get_args(kind)
    return found[0] if get_origin(kind) is tuple and found[-1:] == (...,) else None


def elements(kind: Any, size: int) -> tuple[Any, ...]:
    return get_args(kind) if element(kind) is None else (element(kind),) * size


def is_mapping(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Mapping)


def fits(kind: Any, value: Any) -> bool:
    if len(options(kind)) > 1:
        return any(fits(one, value) for one in options(kind))
    if get_origin(kind) is Literal:
        return isinstance(value, str) and value in get_args(kind)
    if get_origin(kind) is tuple:
        kinds = elements(kind, len(value)) if isinstance(value, tuple) else ()
        return isinstance(value, tuple) and len(kinds) == len(value) and all(map(fits, kinds, value))
    if kind in (int, float):
        return isinstance(value, Integral if kind is int else Real) and not isinstance(value, bool)
    return isinstance(value, Mapping if is_mapping(kind) else kind) if isinstance(kind, type) else True


def describe(kind: Any) -> str:
    *others, last = [_describe(one) for one in options(kind)]
    return f"{', '.join(others)} or {last}" if others else last


def _describe(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return f"{'one of ' * (len(get_args(kind)) > 1)}{', '.join(map(str, get_args(kind)))}"
    if element(kind) is not None:
        return f"a list, each item {describe(element(kind))}"
    if get_origin(kind) is tuple:
        example = ",".join(str(place) for place in range(1, len(get_args(kind)) + 1))
        return f"{len(get_args(kind))} values separated by commas, such as {example}"
    if is_mapping(kind):
        return "a group of settings"
    return "none" if kind is NoneType else _WORDS.get(kind, f"a {getattr(kind, '__name__', kind)}")


def from_text(kind: Any, text: str) -> Any:
    """A value of a type from the command line; a ``ValueError`` if the text is none."""
    kinds = options(kind)
    if NoneType in kinds and text.lower() == "none" and not {str, Path} & {*kinds} and text not in choices(kind):
        return None
    for one in kinds:
        try:
            return _from_text(one, text)
        except ValueError:
            continue
    raise ValueError(f"not {describe(kind)}: {text}")


def _from_text(kind: Any, text: str) -> Any:
    if get_origin(kind) is Literal and text in get_args(kind):
        return text
    if get_origin(kind) is tuple:
        return tuple(from_text(one, part) for one, part in zip(get_args(kind), text.split(","), strict=True))
    if kind is bool and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind is int:
        return _whole_number(text)
    if kind in (float, str, Path):
        return kind(text)
    raise ValueError(text)


def _whole_number(text: str) -> int:
    try:
        found = Decimal(text)
    except InvalidOperation:
        raise ValueError(text) from None
    if not (found.is_finite() and found.adjusted() <= MAX_EXPONENT and found == found.to_integral_value()):
        raise ValueError(text)
    return int(found)
