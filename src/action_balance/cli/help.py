"""Help texts of the commands."""

import inspect
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, replace

from action_balance.cli.form import PROGRAM, Flag, Form, summary_of
from action_balance.cli.parser import before_marker

HELP = ("-h", "--help")
HELP_ALL = "--help-all"
COMPLETION = "--print-completion"
#: The options of every command, and of the program itself.
SHOW_HELP = (", ".join(HELP), "Show this help and exit")
GENERAL = (
    SHOW_HELP,
    ("--version", "Show the version and exit"),
    (f"{COMPLETION} SHELL", "Print a shell completion script: bash, zsh, tcsh, fish or powershell"),
)

#: Widest line, also on wider screens, and column of the descriptions.
WIDTH = 98
COLUMN = 26

#: A left and a right column.
Row = tuple[str, str]


def wants_help(words: Sequence[str]) -> bool:
    """Whether the words ask for help."""
    return bool({*HELP, HELP_ALL} & {*before_marker(words)})


def overview(usage: str, about: str, commands: Mapping[str, str], examples: Iterable[str] = ()) -> str:
    """The help of the program, or of a group of commands."""
    parts = [f"usage: {usage}\n", _wrapped(about), _section(f"{usage.split()[-2].lower()}s", commands.items())]
    if examples:
        parts.append(_section("options", GENERAL))
        parts.append("examples:\n" + "".join(f"  {PROGRAM} {example}\n" for example in examples))
    command = usage.removesuffix(" [options]")
    return "\n".join([*parts, f"{command} --help lists the options of {command.split()[-1]}.\n"])


def command_help(form: Form, everything: bool) -> str:
    """The help of a command."""
    everything = everything or not form.common
    positional = [one for one in form.flags if one.positional]
    words = [f"{one.name} [{one.name} ...]" if one.many else one.name for one in positional]
    words = [word if one.default is MISSING else f"[{word}]" for word, one in zip(words, positional, strict=True)]
    usage = " ".join(["usage:", form.program, *words, "[options]"])
    parts = [f"{usage}\n", _wrapped((inspect.getdoc(form.kind) or "").replace("`", ""))]
    if positional:
        parts.append(_section("arguments", [(one.name, one.help) for one in positional]))
    own = [SHOW_HELP, *([(HELP_ALL, "Show all options and exit")] if form.common else [])]
    parts += _sections(form.flags if everything else _common(form), own)
    known = {one.path: one.kind for one in form.flags}
    shown = set[tuple[str, str]]()  # a bonus may reward, balance or both, with the same settings
    for other in form.more if everything else ():
        new = [one for one in other.flags if known.get(one.path) != one.kind]
        parts += _sections([one for one in new if (one.path, one.title) not in shown], [])
        shown |= {(one.path, one.title) for one in new}
    return "\n".join([*parts, *([_wrapped(form.note)] if form.note else [])])


def _common(form: Form) -> list[Flag]:
    """The flags of the short help: single ones under "options", in the given order, and whole groups."""
    flags = {one.path: one for one in form.flags}
    single = [replace(flags[path], title="") for path in form.common if path in flags]
    groups = [one for one in form.flags if any(one.path.startswith(f"{path}.") for path in form.common)]
    return single + groups


def _sections(flags: Iterable[Flag], own: list[Row]) -> list[str]:
    """The flags by their groups; rows of the command's ``own`` follow its flags."""
    groups: dict[str, list[Flag]] = {"": []}
    for one in flags:
        if not one.positional:
            groups.setdefault(one.title, []).append(one)
    rows = {title: [(_invocation(one), one.help) for one in group] for title, group in groups.items()}
    rows[""] += own
    return [
        _section(title or "options", found, summary_of(groups[title][0].owner) if title else "")
        for title, found in rows.items()
        if found
    ]


def _invocation(one: Flag) -> str:
    """A flag as it is given; a switch that is on is shown with the name that turns it off."""
    if one.kind is bool:
        return f"{one.name}, --no-{one.name[2:]}" if one.default is True else one.name
    return f"{one.name} [{one.metavar} ...]" if one.many else f"{one.name} {one.metavar}"


def _section(title: str, rows: Iterable[Row], about: str = "") -> str:
    text = f"{title}:\n" + (f"{_wrapped(about, '  ')}\n" if about else "")
    for left, right in rows:
        lines = textwrap.wrap(" ".join(right.split()), _width() - COLUMN, break_on_hyphens=False) or [""]
        fits = len(left) <= COLUMN - 4  # otherwise, the description begins below
        text += f"  {left:<{COLUMN - 2}}{lines[0] if fits else ''}".rstrip() + "\n"
        text += "".join(f"{'':{COLUMN}}{line}\n" for line in lines[fits:])
    return text


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(" ".join(text.split()), _width(), initial_indent=indent, subsequent_indent=indent) + "\n"


def _width() -> int:
    return min(WIDTH, shutil.get_terminal_size().columns - 2)
