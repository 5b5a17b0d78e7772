"""Configs from plain data, checked."""

import ast
import inspect
import json
import textwrap
from dataclasses import MISSING, Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from action_balance.errors import UserError


def from_dict(kind: type[Any], data: dict[str, Any]) -> Any:
    """A config from plain data; a `UserError` where a setting is not known, missing or of another kind."""
    kinds = get_type_hints(kind)
    unknown = data.keys() - kinds.keys()
    if unknown:
        raise UserError(f"the config has settings that this version does not know: {', '.join(sorted(unknown))}")
    needed = {one.name for one in fields(kind) if is_dataclass(kinds[one.name]) or _has_no_default(one)}
    missing = needed - data.keys()
    if missing:
        raise UserError(f"the config is damaged: it lacks {', '.join(sorted(missing))}; put a copy of it back")
    for name, value in data.items():
        if not _fits(value, kinds[name]):
            said = json.dumps(value, ensure_ascii=False)
            raise UserError(f"the config says {name} = {said:.40}, which is not {_in_words(kinds[name])}")
    return kind(**{k: _made(v, kinds[k]) for k, v in data.items()})


def _made(value: Any, kind: Any) -> Any:
    if is_dataclass(kind) and isinstance(kind, type):
        return from_dict(kind, value)
    return tuple(value) if get_origin(kind) is tuple else value


def _has_no_default(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _fits(value: Any, kind: Any) -> bool:
    """Whether plain data is of the kind that a setting has."""
    if isinstance(kind, UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if is_dataclass(kind):
        return isinstance(value, dict)
    if get_origin(kind) is tuple:
        return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def _in_words(kind: Any) -> str:
    if isinstance(kind, UnionType):
        return " or ".join(_in_words(one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    if is_dataclass(kind):
        return "a group of settings"
    if get_origin(kind) is tuple:
        return "a list of words"
    words = {int: "a whole number", float: "a number", str: "a word", bool: "true or false", NoneType: "null"}
    return words[kind]


def field_docs(cls: type) -> dict[str, str]:
    """Documentation of the fields of a dataclass: the string literal below each field, on one line.

    Args:
        cls: the dataclass; fields that it inherits are included, base classes first.

    Returns:
        Documentation by field name; fields without a string, and classes without source, are left out.
    """
    names = {field.name for field in fields(cls)} if is_dataclass(cls) else set()
    found: dict[str, str] = {}
    for one in reversed(cls.__mro__[:-1]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(one)))
        except (OSError, TypeError, SyntaxError):
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, below in zip(body, body[1:], strict=False):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
                text = below.value.value  # type: ignore[attr-defined]
                if isinstance(text, str) and field.target.id in names:
                    found[field.target.id] = " ".join(text.split())
    return found
