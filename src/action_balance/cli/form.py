"""What a command takes: a flag for every setting of its dataclass.

A field without a default, or with ``positional`` in its metadata, is positional, a field that is a dataclass is a group
of flags, and the string below a field is its help. The metadata of a field may also hold a ``metavar``, ``parse``
(makes the value from all words after the flag) and ``action``: ``"append"`` (the flag takes one word and may be given
several times).
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin, get_type_hints

from action_balance.config import fields as values
from action_balance.config.serialization import field_docs
from action_balance.errors import UserError, check_name, flag

if TYPE_CHECKING:
    from rich.console import Console

PROGRAM = "action-balance"

#: Adds where a setting stands to an error about it.
Locate = Callable[[UserError], UserError]

#: Placeholders of values in help texts.
METAVARS = {int: "N", float: "X", str: "NAME", Path: "PATH"}
#: Widest list of choices that is shown in place of a placeholder.
WIDEST_CHOICES = 40


@dataclass(frozen=True)
class Group:
    """Heading and description of the flags of one settings class."""

    title: str
    about: str


@dataclass(frozen=True)
class Flag:
    """A setting on the command line."""

    name: str
    """``--learning-rate``, or the placeholder of a positional argument."""
    path: str
    """The fields that lead to it, such as ``settings.agent.ppo.learning_rate``."""
    kind: Any
    """Its type."""
    default: Any
    """Its value unless it is given; ``MISSING`` if it is required."""
    doc: str
    """Its documentation."""
    group: Group | None
    """The group that it is shown in."""
    metadata: Mapping[str, Any]
    """Metadata of its field."""

    @property
    def positional(self) -> bool:
        """Whether it is given without a name."""
        return not self.name.startswith("-")

    @property
    def many(self) -> bool:
        """Whether several words can follow it."""
        listed = values.element(self.kind) is not None or "parse" in self.metadata
        return listed and self.metadata.get("action") != "append"

    @property
    def metavar(self) -> str:
        """The placeholder of its value."""
        if "metavar" in self.metadata:
            return str(self.metadata["metavar"])
        kind = values.element(self.kind) or self.kind
        known = [METAVARS[one] for one in values.options(kind) if one in METAVARS]
        words = ",".join([*known[:1], *values.choices(kind)])
        if values.choices(kind) and len(words) <= WIDEST_CHOICES:
            return f"{{{words}}}"
        if get_origin(kind) is tuple:
            return "X,Y"
        return known[0] if known else "NAME"

    @property
    def help(self) -> str:
        """The documentation, with the default value."""
        text = self.doc.replace("`", "").rstrip(".")
        shown = "" if self.default is None or self.default is MISSING else _as_text(self.default)
        if self.kind is bool:
            shown = "on" if self.default is True else ""
        complete = self.positional or "default: " in text
        return text if complete or not shown else f"{text} (default: {shown})"

    def value(self, words: Sequence[str]) -> Any:
        """The value of the words that follow the flag; a `UserError` that says what is expected."""
        if "parse" in self.metadata:
            return self.metadata["parse"](words)
        one = values.element(self.kind)
        return self._value(self.kind, words[-1]) if one is None else tuple(self._value(one, word) for word in words)

    def _value(self, kind: Any, word: str) -> Any:
        try:
            return values.from_text(kind, word)
        except ValueError:
            if values.only_choices(kind):
                check_name(self.name, word, values.choices(kind))
            raise UserError(f"{self.name} takes {values.describe(kind)}, not '{word:.40}'") from None


@dataclass(frozen=True)
class Form:
    """What a command takes."""

    name: str
    """The command, such as ``reproduce grid``."""
    kind: type[Any]
    """Its dataclass."""
    start: Mapping[str, Any] = field(default_factory=dict)
    """Values in place of defaults, by path."""
    kinds: Mapping[str, Any] = field(default_factory=dict)
    """Types in place of those of the fields, by path; for a mapping field, settings by key."""
    choices: Mapping[str, Iterable[str]] = field(default_factory=dict)
    """Words that the shell completes, by path; other words are possible."""
    docs: Mapping[str, str] = field(default_factory=dict)
    """Documentation in place of that of the fields, by path."""
    common: tuple[str, ...] = ()
    """Paths of the flags and of the groups that the short help shows; empty for all."""
    unused: Mapping[str, str] = field(default_factory=dict)
    """What the flags without effect would need, by path: it is an error to give one of them."""
    note: str = ""
    """Last paragraph of the help."""
    more: tuple["Form", ...] = ()
    """Variants of the command whose further flags the full help also shows."""

    @property
    def program(self) -> str:
        """The command as it is typed."""
        return f"{PROGRAM} {self.name}"

    @property
    def about(self) -> str:
        """What the command does."""
        return (inspect.getdoc(self.kind) or "").replace("`", "")

    @cached_property
    def flags(self) -> tuple[Flag, ...]:
        """All flags. A flag whose name is taken gets the name of its group as a prefix.

        Settings by key have their names last: which of them exist depends on what else was given, and the names of the
        other flags do not.
        """
        by_key = tuple(f"{path}." for path, kind in self.kinds.items() if isinstance(kind, Mapping))
        flags = list(_flags(self, self.kind, "", None, None))
        names: dict[str, str] = {}  # paths by name
        for one in sorted(flags, key=lambda one: one.path.startswith(by_key)):
            group = one.group.title.removesuffix(" settings").replace(" ", "-") if one.group else ""
            names[one.name if one.name not in names else f"--{group.lower()}-{one.name[2:]}"] = one.path
        name_of = {path: name for name, path in names.items()}
        return tuple(replace(one, name=name_of[one.path]) for one in flags)

    def build(self, given: Mapping[str, Any]) -> Any:
        """The command with these values, by path."""
        return _build(self, self.kind, "", None, given)


def _as_text(value: Any) -> str:
    """A value as it is typed."""
    if isinstance(value, tuple):
        return " ".join(",".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)
    return str(value)


class Command:
    """A command; a subclass is the dataclass of its settings."""

    @classmethod
    def summary(cls) -> str:
        """What the command does, in one line."""
        return (inspect.getdoc(cls) or "").partition(". ")[0].rstrip(".")

    @classmethod
    def form(cls, name: str, words: Sequence[str]) -> Form:
        """What the command takes, given what was typed after its name."""
        del words
        return Form(name, cls)

    @classmethod
    def variants(cls, name: str) -> dict[str, Form]:
        """Everything that the command can take, by what each variant is called."""
        return {name: cls.form(name, ())}

    @classmethod
    def expand(cls, name: str, words: Sequence[str]) -> tuple[list[str], Locate]:
        """Replace files of settings among the words by what they stand for."""
        del name
        return list(words), lambda error: error

    @property
    def is_light(self) -> bool:
        """Whether it only prints something, and needs neither JAX nor the handling of signals."""
        return False

    def load(self) -> Callable[["Console"], None]:
        """Import what the command needs, which may take seconds."""
        raise NotImplementedError


def _members(form: Form, kind: Any, path: str, base: Any) -> Iterator[tuple[Field[Any], str, Any, Any]]:
    """Field, path, type and start value of every setting of a class; ``base`` is an instance to start from, if any."""
    hints = _hints(kind)
    for one in fields(kind):
        where = f"{path}.{one.name}" if path else one.name
        start = one.default_factory() if one.default_factory is not MISSING else one.default
        if base is not None:
            start = getattr(base, one.name)
        yield one, where, form.kinds.get(where, hints[one.name]), form.start.get(where, start)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _field_docs(kind: Any) -> dict[str, str]:
    return field_docs(kind)


def _is_settings(kind: Any) -> bool:
    return isinstance(kind, type) and is_dataclass(kind)


def _flags(form: Form, kind: type[Any], path: str, base: Any, group: Group | None) -> Iterator[Flag]:
    docs = _field_docs(kind)  # type: ignore[arg-type] # every type is hashable
    nested: list[tuple[type[Any], str, Any]] = []
    for one, where, member, start in _members(form, kind, path, base):
        if isinstance(member, Mapping):
            nested += [(type(settings), f"{where}.{key}", settings) for key, settings in member.items()]
        elif _is_settings(member):
            nested.append((member, where, start if isinstance(start, member) else None))
        else:
            required = one.default is MISSING and one.default_factory is MISSING
            positional = required or one.metadata.get("positional")
            name = str(one.metadata.get("metavar", one.name.upper())) if positional else flag(one.name)
            yield Flag(name, where, member, start, form.docs.get(where, docs.get(one.name, "")), group, one.metadata)
    for settings, where, start in nested:
        about = (inspect.getdoc(settings) or "").partition("\n\n")[0].replace("`", "")
        yield from _flags(form, settings, where, start, Group(_title(settings), about))


def _title(kind: type[Any]) -> str:
    """``PPO settings`` of ``PPOConfig``, ``my bonus settings`` of ``MyBonus.Config``; a class may have a title."""
    if title := getattr(kind, "settings_title", None):
        return str(title)
    name = re.sub(r"[.]?(Config|Settings)$", "", kind.__qualname__).rpartition(".")[2]
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).split()
    return " ".join([*(word if word.isupper() else word.lower() for word in words), "settings"])


def _build(form: Form, kind: type[Any], path: str, base: Any, given: Mapping[str, Any]) -> Any:
    made: dict[str, Any] = {}
    for one, where, member, start in _members(form, kind, path, base):
        if isinstance(member, Mapping):
            made[one.name] = type(start)(_changed(start, member, where, given))
        elif _is_settings(member):
            made[one.name] = _build(form, member, where, start if isinstance(start, member) else None, given)
        elif where in given or where in form.start:
            made[one.name] = given.get(where, start)
    return kind(**made) if base is None else replace(base, **made)


def _changed(before: Mapping[str, Any], keys: Iterable[str], path: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by key, with those that were given."""
    changed = {key: dict(settings) for key, settings in before.items()}
    for key in keys:
        prefix = f"{path}.{key}."
        settings = {where.removeprefix(prefix): value for where, value in given.items() if where.startswith(prefix)}
        if settings:
            changed[key] = changed.get(key, {}) | settings
    return changed
