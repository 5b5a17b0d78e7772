"""Settings as plain data and back, checked; and the documentation of their fields."""

import ast
import inspect
import json
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, fields, is_dataclass
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from action_balance.errors import UserError
from action_balance.files import Data

T = TypeVar("T")
#: Chooses the class to build from plain data, given the class that a setting is declared as.
Resolve = Callable[[type, Data], type]


def to_dict(settings: Any) -> Data:
    """Settings as plain data."""
    return asdict(settings)


def from_dict(kind: type[T], data: Data, resolve: Resolve = lambda kind, _: kind) -> T:
    """Settings from plain data."""
    kind = resolve(kind, data)
    types = get_type_hints(kind)
    declared = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    if unknown := sorted(data.keys() - declared.keys()):
        raise UserError(f"the config has settings that are unknown to this version: {', '.join(unknown)}")
    required = {
        name
        for name, field in declared.items()
        if is_dataclass(types[name]) or (field.default is MISSING and field.default_factory is MISSING)
    }
    if missing := sorted(required - data.keys()):
        raise UserError(f"the config is damaged: {', '.join(missing)} is missing; restore it from a copy")
    for name, value in data.items():
        if not _fits(value, types[name]):
            shown = json.dumps(value, ensure_ascii=False)
            raise UserError(f"the config has {name} = {shown:.40}, which is not {_describe(types[name])}")
    return kind(**{name: _build(value, types[name], resolve) for name, value in data.items()})


def _build(value: Any, kind: Any, resolve: Resolve) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        return from_dict(kind, value, resolve)
    if _is_union(kind):
        return _build(value, next(one for one in get_args(kind) if _fits(value, one)), resolve)
    if get_origin(kind) is tuple:
        return tuple(_build(item, one, resolve) for item, one in zip(value, _items(kind, value), strict=True))
    return kind(value) if _is_mapping(kind) else value


def _items(kind: Any, value: Any) -> tuple[Any, ...]:
    """The types of the items of a tuple."""
    first, *others = get_args(kind)
    return (first,) * len(value) if others == [Ellipsis] else (first, *others)


def _is_mapping(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, Mapping)


def _is_union(kind: Any) -> bool:
    return isinstance(kind, UnionType) or get_origin(kind) is Union


def _fits(value: Any, kind: Any) -> bool:
    """Whether plain data are of the type of a setting."""
    if _is_union(kind):
        return any(_fits(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if is_dataclass(kind) or _is_mapping(kind):
        return isinstance(value, dict)
    if get_origin(kind) is tuple:
        items = _items(kind, value) if isinstance(value, list | tuple) else None
        return items is not None and len(items) == len(value) and all(map(_fits, value, items))
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _describe(kind: Any) -> str:
    if _is_union(kind):
        return " or ".join(_describe(one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return f"one of {', '.join(map(str, get_args(kind)))}"
    if is_dataclass(kind) or _is_mapping(kind):
        return "a group of settings"
    if get_origin(kind) is tuple:
        *items, last = get_args(kind)
        return f"a list, each item {_describe(items[0])}" if last is Ellipsis else f"a list of {len(items) + 1} items"
    words = {int: "an integer", float: "a number", str: "a string", bool: "true or false", NoneType: "null"}
    return words.get(kind, str(kind))


def field_docs(cls: type) -> dict[str, str]:
    """Documentation of the fields of a dataclass: the string literal below each field, on one line."""
    names = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__[:-1]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(one)))
        except (OSError, TypeError, SyntaxError):
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, below in pairwise(body):
            match field, below:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                    if name in names:
                        found[name] = " ".join(text.split())
    return found
