"""Settings as plain data and back, checked; and the documentation of their fields."""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from itertools import pairwise
from typing import Any, TypeVar, get_origin

from action_balance.config.fields import check, elements, is_mapping, is_required, options, type_hints
from action_balance.errors import UserError
from action_balance.files import Data

T = TypeVar("T")
#: Chooses the class to build from plain data, given the class that a setting is declared as.
Resolve = Callable[[type, Data], type]


def to_dict(settings: Any) -> Data:
    return asdict(settings)


def from_dict(kind: type[T], data: Data, resolve: Resolve = lambda kind, _: kind) -> T:
    kind = resolve(kind, data)
    types, declared = type_hints(kind), fields(kind)  # type: ignore[arg-type]
    if unknown := sorted(data.keys() - {one.name for one in declared}):
        raise UserError(f"the config has settings that are unknown to this version: {', '.join(unknown)}")
    required = {one.name for one in declared if is_required(one) or is_dataclass(types[one.name])}
    if missing := sorted(required - data.keys()):
        raise UserError(f"the config is damaged: {', '.join(missing)} is missing; restore it from a copy")
    values = {name: _build(types[name], value, resolve) for name, value in data.items()}
    try:
        check(kind, values)
    except UserError as error:
        raise UserError(f"the config has a setting that does not fit: {error}") from None
    return kind(**values)


def _build(kind: Any, value: Any, resolve: Resolve) -> Any:
    """A value of plain data as its type has it; one that does not fit is left as it is."""
    for one in options(kind):
        if isinstance(value, dict) and is_dataclass(one) and isinstance(one, type):
            return from_dict(one, value, resolve)
        if isinstance(value, dict) and is_mapping(one):
            return one(value)
        if isinstance(value, list | tuple) and get_origin(one) is tuple:
            kinds = elements(one, len(value))
            if len(kinds) == len(value):
                return tuple(_build(inner, item, resolve) for inner, item in zip(kinds, value, strict=True))
    return value


def field_docs(kind: type) -> dict[str, str]:
    """Documentation of the fields of a dataclass: the string literal below each field, on one line."""
    names = {one.name for one in fields(kind)} if is_dataclass(kind) else set()
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__[:-1]):
        found |= _module_docs(one.__module__).get(one.__qualname__, {})
    return {name: text for name, text in found.items() if name in names}


@cache
def _module_docs(module: str) -> dict[str, dict[str, str]]:
    """The strings below the fields of all classes of a module; nothing where its source is not known."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError, SyntaxError):
        return {}
    return {name: dict(_strings(node)) for name, node in _classes(tree, "")}


def _classes(node: ast.AST, above: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            yield f"{above}{child.name}", child
            yield from _classes(child, f"{above}{child.name}.")
        elif isinstance(child, ast.FunctionDef):
            yield from _classes(child, f"{above}{child.name}.<locals>.")


def _strings(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for one, below in pairwise(node.body):
        match one, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                yield name, " ".join(text.split())
