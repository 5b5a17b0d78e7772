"""From words to a command."""

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field
from typing import Any

from action_balance.cli.form import Flag, Form
from action_balance.config.fields import choices, describe, element
from action_balance.errors import UserError, nearest

#: Finds what an option belongs to that a command does not take.
Owner = Callable[[str], str | None]

#: Words that begin like an option and are numbers.
_NUMBER = re.compile(r"-\.?\d|-(inf|nan)$")


@dataclass
class SortedWords:
    """Words sorted by the flags that they follow."""

    words: dict[str, list[str]] = field(default_factory=dict)  # by path; of a switch, "true" or "false"
    others: list[str] = field(default_factory=list)  # what follows no flag
    unknown: list[str] = field(default_factory=list)  # options that are no flag


def parse(form: Form, words: Sequence[str], owner: Owner = lambda _: None) -> Any:
    """The command that was typed."""
    found = sort_words(form.flags, words)
    if found.unknown:
        raise _unknown(form, found.unknown[0], owner)
    given = {one.path: one.value(found.words[one.path]) for one in form.flags if one.path in found.words}
    for path in given:
        form.need(path)
    others = found.others
    for one in (one for one in form.flags if one.positional):
        taken, others = (others, []) if one.many else (others[:1], others[1:])
        if taken:
            given[one.path] = one.value(taken)
        elif one.default is MISSING:
            raise UserError(f"{form.name} needs {one.name}; see {form.program} --help")
    if others:
        raise UserError(f"{form.name} does not take '{others[0]}'; see {form.program} --help")
    return form.build(given)


def sort_words(flags: Iterable[Flag], words: Sequence[str]) -> SortedWords:
    """Sort words by the flags that they follow."""
    known = {one.name: one for one in flags if not one.positional}
    known |= {f"--no-{name[2:]}": one for name, one in known.items() if one.kind is bool}
    found, todo = SortedWords(), deque(words)
    while todo:
        word = todo.popleft()
        name, equals, value = word.partition("=")
        if word == "--":
            found.others += todo
            break
        if not is_option(word):
            found.others.append(word)
        elif name not in known:
            found.unknown.append(name)
        else:
            one = known[name]
            taken = [value] if equals else _take(one, todo)
            if one.kind is bool:
                if equals:
                    raise UserError(f"{one.name} takes no value")
                taken = [str(name == one.name).lower()]
            if not taken and not one.many:
                expected = one.field.metadata.get("metavar") or describe(element(one.kind) or one.kind)
                raise UserError(f"{name} takes {expected}")
            found.words.setdefault(one.path, []).extend(taken)
    return found


def is_option(word: str) -> bool:
    """Whether a word begins like an option; a negative number does not."""
    return len(word) > 1 and word.startswith("-") and not _NUMBER.match(word)


def before_marker(words: Sequence[str]) -> list[str]:
    """The words before ``--``, after which no word is an option."""
    return list(words[: words.index("--")] if "--" in words else words)


def _take(one: Flag, todo: deque[str]) -> list[str]:
    """The words that follow a flag."""
    taken = list[str]()
    bare = one.field.metadata.get("bare")  # the word that it has where none of its own follows
    while todo and one.kind is not bool and (one.many or not taken) and not is_option(todo[0]):
        if bare is not None and todo[0] not in choices(one.kind):
            break
        taken.append(todo.popleft())
    return taken if bare is None else taken or [bare]


def _unknown(form: Form, option: str, owner: Owner) -> UserError:
    if other := owner(option):
        return UserError(f"{form.name} does not take {option}, an option of {other}; see {form.program} --help")
    near = nearest(option.strip("-"), (one.name[2:] for one in form.flags if not one.positional), 0.6)
    hint = f": did you mean --{near}?" if near else ";"
    return UserError(f"unknown option {option}{hint} see {form.program} --help")
