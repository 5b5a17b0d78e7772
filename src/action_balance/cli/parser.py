"""From words to a command. argparse sorts the words by flags; values and errors are our own."""

import argparse
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING
from typing import Any

from action_balance.cli.form import Flag, Form
from action_balance.config import fields as values
from action_balance.errors import UserError, nearest

#: Finds what an option belongs to that a command does not take.
Owner = Callable[[str], str | None]


def parse(form: Form, words: Sequence[str], owner: Owner = lambda _: None) -> Any:
    """The command that was typed."""
    found, others = split(form.flags, words)
    options = before_marker(words)
    for word in others:
        if word.startswith("-") and len(word) > 1 and word in options:
            raise _unknown(form, word.partition("=")[0], owner)
    flags = {one.path: one for one in form.flags}
    given = {path: raw if isinstance(raw, bool) else flags[path].value(raw) for path, raw in found.items()}
    for path in form.unused:
        if path in given:
            need = form.unused[path]
            other = f"add {need}" if need.startswith("--") else "choose another --method"
            raise UserError(f"{flags[path].name} needs {need}: leave it out, or {other}")
    for one in (one for one in form.flags if one.positional):
        taken, others = (others, []) if one.many else (others[:1], others[1:])
        if taken:
            given[one.path] = one.value(taken)
        elif one.default is MISSING:
            raise UserError(f"{form.name} needs {one.name}; see {form.program} --help")
    if others:
        raise UserError(f"{form.name} does not take '{others[0]}'; see {form.program} --help")
    return form.build(given)


def split(flags: Iterable[Flag], words: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """Sort words by the flags that they follow."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser._negative_number_matcher = re.compile(r"-\.?\d|-(inf|nan)$")  # -1e5 is a number, too
    options = {one.name: one for one in flags if not one.positional}
    for one in options.values():
        add_option(parser, one)
    known = before_marker(words)
    try:
        found, others = parser.parse_known_args(known)
    except argparse.ArgumentError as error:
        name = str(error.argument_name).partition("/")[0]  # a switch that is on has two names
        kind = options[name].kind if name in options else bool
        raise UserError(f"{name} takes {'no value' if kind is bool else values.describe(kind)}") from None
    return {path: _as_typed(raw) for path, raw in vars(found).items()}, others + list(words[len(known) + 1 :])


def without(words: Sequence[str], options: Mapping[str, int]) -> list[str]:
    """Leave out some options."""
    made, known, skip = list[str](), before_marker(words), 0
    for word in known:
        if skip:
            skip -= 1
        elif word in options:
            skip = options[word]
        elif word.partition("=")[0] not in options:
            made.append(word)
    return made + list(words[len(known) :])


def _as_typed(raw: Any) -> Any:
    """The words of a flag; argparse makes an empty list of the value in ``--flag=--``."""
    return [word if isinstance(word, str) else "--" for word in raw] if isinstance(raw, list) else raw


def before_marker(words: Sequence[str]) -> list[str]:
    """The words before ``--``, after which no word is an option."""
    return list(words[: words.index("--")] if "--" in words else words)


def _unknown(form: Form, option: str, owner: Owner) -> UserError:
    if other := owner(option):
        return UserError(f"{form.name} does not take {option}, an option of {other}; see {form.program} --help")
    near = nearest(option.strip("-"), (one.name[2:] for one in form.flags if not one.positional), 0.6)
    hint = f": did you mean --{near}?" if near else ";"
    return UserError(f"unknown option {option}{hint} see {form.program} --help")


def add_option(parser: argparse._ActionsContainer, one: Flag) -> argparse.Action:
    """Add an option to a parser or to a group of its options. A switch can also be turned back."""
    more: dict[str, Any] = {"dest": one.path, "default": argparse.SUPPRESS, "help": one.help.replace("%", "%%")}
    if one.kind is bool and one.default is True:  # both names are shown: the text says what the switch does when on
        return parser.add_argument(one.name, action=argparse.BooleanOptionalAction, **more)
    if one.kind is bool:
        back = {**more, "help": argparse.SUPPRESS}
        parser.add_argument(f"--no-{one.name[2:]}", action="store_const", const=False, **back)
        return parser.add_argument(one.name, action="store_const", const=True, **more)
    arity: dict[str, Any] = {"action": "extend", "nargs": "*"} if one.many else {"action": "append"}
    return parser.add_argument(one.name, metavar=one.metavar, **arity, **more)
