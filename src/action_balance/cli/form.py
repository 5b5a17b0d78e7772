"""What a command takes: a flag for every setting of its dataclass.

A field without a default, or with ``positional`` in its metadata, is positional, a field that is a dataclass is a group
of flags, and the string below a field is its help; `config.fields` says what else the metadata may hold.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

from action_balance.config.fields import (
    choices,
    describe,
    element,
    flag_of,
    from_text,
    is_required,
    only_choices,
    options,
    type_hints,
)
from action_balance.config.serialization import field_docs
from action_balance.errors import UserError, check_name

if TYPE_CHECKING:
    from rich.console import Console

PROGRAM = "action-balance"

#: Placeholders of values in help texts.
METAVARS = {int: "N", float: "X", str: "NAME", Path: "PATH"}
#: Widest list of choices that is shown in place of a placeholder, and the largest limit that is worth showing.
WIDEST_CHOICES, LARGEST_LIMIT = 40, 1000


@dataclass(frozen=True)
class Flag:
    """A setting on the command line."""

    name: str  # --learning-rate, or the placeholder of a positional argument
    path: str  # the fields that lead to it, such as settings.agent.algorithm.learning_rate
    kind: Any  # its type
    default: Any  # its value unless it is given; MISSING if it is required
    field: Field[Any]
    owner: type[Any]  # the dataclass that it is a field of
    title: str  # heading of the group that it is shown in; empty for the command's own
    names: tuple[str, ...] = ()  # words that are known; there may be others

    @property
    def positional(self) -> bool:
        return not self.name.startswith("-")

    @property
    def parsed(self) -> bool:
        """Whether its field makes the value from all words."""
        return "parse" in self.field.metadata

    @property
    def many(self) -> bool:
        """Whether several words can follow it."""
        listed = element(self.kind) is not None or self.parsed
        return listed and self.field.metadata.get("action") != "append"

    @property
    def metavar(self) -> str:
        """The placeholder of its value."""
        if "metavar" in self.field.metadata:
            return str(self.field.metadata["metavar"])
        kind = element(self.kind) or self.kind
        known = [METAVARS[one] for one in options(kind) if one in METAVARS]
        words = ",".join([*known[:1], *choices(kind)])
        if choices(kind) and len(words) <= WIDEST_CHOICES:
            return f"{{{words}}}"
        if get_origin(kind) is tuple:
            return "X,Y"
        return known[0] if known else "NAME"

    @property
    def help(self) -> str:
        """The documentation, with known names, the default value and the range."""
        text = field_docs(self.owner).get(self.field.name, "").replace("`", "").rstrip(".")
        names = tuple(self.field.metadata.get("names", () if self.metavar.startswith("{") else choices(self.kind)))
        if names and not self.positional:
            text += f": {', '.join(names)}{', or your own as MODULE:CLASS' * self.field.metadata.get('own', False)}"
        if self.positional or "default: " in text:
            return text
        shown = "" if self.default is None or self.default is MISSING else _as_text(self.default)
        if self.kind is bool:
            shown = "on" if self.default is True else ""
        notes = [f"default: {shown}"] if shown else []
        if (limits := self.field.metadata.get("range")) and limits["high"] <= LARGEST_LIMIT:
            form = "above {low:g}, at most {high:g}" if limits["above"] else "{low:g} to {high:g}"
            notes.append(form.format(**limits))
        return f"{text} ({'; '.join(notes)})" if notes else text

    def value(self, words: Sequence[str]) -> Any:
        """The value of the words that follow the flag; a `UserError` that says what is expected."""
        if self.parsed:
            return self.field.metadata["parse"](words)
        one = element(self.kind)
        return self._value(self.kind, words[-1]) if one is None else tuple(self._value(one, word) for word in words)

    def _value(self, kind: Any, word: str) -> Any:
        try:
            return from_text(kind, word)
        except ValueError:
            if only_choices(kind):
                check_name(self.name, word, choices(kind))
            raise UserError(f"{self.name} takes {describe(kind)}, not '{word:.40}'") from None


@dataclass(frozen=True)
class Form:
    """What a command takes."""

    name: str  # the command, such as "reproduce grid"
    kind: type[Any]  # its dataclass
    start: Mapping[str, Any] = field(default_factory=dict)  # values in place of defaults, by path
    kinds: Mapping[str, Any] = field(default_factory=dict)  # types in place of those of the fields, by path;
    # for a field that is a dictionary, instances of settings by key
    names: Mapping[str, Iterable[str]] = field(default_factory=dict)  # known words, by path
    common: tuple[str, ...] = ()  # paths of the flags and groups that the short help shows; empty for all
    unused: Mapping[str, str] = field(default_factory=dict)  # what flags without effect would need, by path: giving one
    # of them is an error
    note: str = ""  # last paragraph of the help
    more: tuple["Form", ...] = ()  # variants of the command, whose further flags the full help also shows
    located: Callable[[UserError], UserError] = lambda error: error  # adds where a setting stands to an error about it

    @property
    def program(self) -> str:
        """The command as it is typed."""
        return f"{PROGRAM} {self.name}"

    @cached_property
    def flags(self) -> tuple[Flag, ...]:
        """All flags. A flag whose name is taken gets the title of its group as a prefix.

        Settings by key get their names last: which of them exist depends on what else was given, and the names of the
        other flags do not.
        """
        by_key = tuple(f"{path}." for path, kind in self.kinds.items() if isinstance(kind, Mapping))
        flags = list(self._flags(self.kind, "", None, ""))
        names: dict[str, str] = {}  # paths by name
        for one in sorted(flags, key=lambda one: one.path.startswith(by_key)):
            group = one.title.removesuffix(" settings").replace(" ", "-").lower()
            names[one.name if one.name not in names else f"--{group}-{one.name[2:]}"] = one.path
        name_of = {path: name for name, path in names.items()}
        return tuple(replace(one, name=name_of[one.path]) for one in flags)

    def need(self, path: str) -> None:
        """Raise a `UserError` if the flag with this path has no effect."""
        if need := self.unused.get(path):
            name = next(one.name for one in self.flags if one.path == path)
            other = f"add {need}" if need.startswith("--") else "choose another --method"
            raise UserError(f"{name} needs {need}: leave it out, or {other}")

    def build(self, given: Mapping[str, Any]) -> Any:
        """The command with these values, by path."""
        return self._build(self.kind, "", None, {**self.start, **given})

    def _members(self, kind: Any, above: str, base: Any) -> Iterator[tuple[Field[Any], str, Any, Any]]:
        """Field, path, type and start value of every setting of a class, of which ``base`` is the instance so far."""
        for one in fields(kind):
            path = f"{above}{one.name}"
            start = one.default_factory() if one.default_factory is not MISSING else one.default
            start = start if base is None else getattr(base, one.name)
            yield one, path, self.kinds.get(path, type_hints(kind)[one.name]), self.start.get(path, start)

    def _flags(self, kind: type[Any], above: str, base: Any, title: str) -> Iterator[Flag]:
        nested: list[tuple[type[Any], str, Any]] = []
        for one, path, member, start in self._members(kind, above, base):
            if isinstance(member, Mapping):
                nested += [(type(settings), f"{path}.{key}.", settings) for key, settings in member.items()]
            elif _is_settings(member):
                nested.append((member, f"{path}.", start if isinstance(start, member) else None))
            else:
                positional = is_required(one) or one.metadata.get("positional")
                name = str(one.metadata.get("metavar", one.name.upper())) if positional else flag_of(one)
                known = one.metadata.get("names", choices(element(member) or member))
                yield Flag(name, path, member, start, one, kind, title, tuple(self.names.get(path, known)))
        for settings, path, start in nested:
            yield from self._flags(settings, path, start, _title(settings))

    def _build(self, kind: type[Any], above: str, base: Any, values: Mapping[str, Any]) -> Any:
        made: dict[str, Any] = {}
        for one, path, member, start in self._members(kind, above, base):
            if isinstance(member, Mapping):
                made[one.name] = type(start)(_changed(start, member, f"{path}.", values))
            elif _is_settings(member):
                made[one.name] = self._build(member, f"{path}.", start if isinstance(start, member) else None, values)
            elif path in values:
                made[one.name] = values[path]
        return kind(**made) if base is None else replace(base, **made)


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

    @property
    def is_light(self) -> bool:
        """Whether it only prints something, and needs neither JAX nor the handling of signals."""
        return False

    def load(self) -> Callable[["Console"], None]:
        """Import what the command needs, which may take seconds."""
        raise NotImplementedError


def summary_of(kind: type[Any]) -> str:
    """The first paragraph of the documentation of a class."""
    return (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("`", "")


def _is_settings(kind: Any) -> bool:
    return isinstance(kind, type) and is_dataclass(kind)


def _title(kind: type[Any]) -> str:
    """``PPO settings`` of ``PPOConfig``, ``my bonus settings`` of ``MyBonus.Config``; a class may have a title."""
    if title := getattr(kind, "settings_title", None):
        return str(title)
    name = re.sub(r"[.]?(Config|Settings)$", "", kind.__qualname__).rpartition(".")[2]
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).split()
    return " ".join([*(word if word.isupper() else word.lower() for word in words), "settings"])


def _changed(
    before: Mapping[str, Any], keys: Iterable[str], above: str, values: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """Settings by key, with those that were given."""
    changed = {key: dict(settings) for key, settings in before.items()}
    for key in keys:
        prefix = f"{above}{key}."
        settings = {path.removeprefix(prefix): value for path, value in values.items() if path.startswith(prefix)}
        if settings:
            changed[key] = changed.get(key, {}) | settings
    return changed


def _as_text(value: Any) -> str:
    """A value as it is typed."""
    if isinstance(value, tuple):
        return " ".join(",".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in value)
    return str(value)
