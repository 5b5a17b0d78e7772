"""Help texts of the commands."""

import argparse
import shutil
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, replace

from action_balance.cli.form import PROGRAM, Flag, Form, Group
from action_balance.cli.parser import add_option, before_marker

HELP = ("-h", "--help")
HELP_ALL = "--help-all"
COMPLETION = "--print-completion"

#: Widest line, also on wider screens, and column of the descriptions.
WIDTH = 100
COLUMN = 26


def wants_help(words: Sequence[str]) -> bool:
    """Whether the words ask for help."""
    return bool({*HELP, HELP_ALL} & {*before_marker(words)})


def overview(usage: str, about: str, commands: Mapping[str, str], examples: Iterable[str] = ()) -> str:
    """The help of the program, or of a group of commands."""
    parser = _parser(usage, about)
    group = parser.add_argument_group(usage.split()[-2].lower() + "s")
    for name, does in commands.items():
        group.add_argument(name, help=does)
    if examples:
        add_general_options(parser.add_argument_group("options"))
    lines = "\n".join(f"  {PROGRAM} {example}" for example in examples)
    parts = [parser.format_help(), *([f"examples:\n{lines}\n"] if examples else [])]
    command = usage.removesuffix(" [options]")
    return "\n".join([*parts, f"{command} --help lists the options of {command.split()[-1]}.\n"])


def add_general_options(parser: argparse._ActionsContainer) -> argparse.Action:
    """Add the options of the program itself; the one for completion is returned."""
    parser.add_argument(*HELP, action="store_true", help="Show this help and exit")
    parser.add_argument("--version", action="store_true", help="Show the version and exit")
    about = "Print a shell completion script: bash, zsh, fish, tcsh or powershell"
    return parser.add_argument(COMPLETION, metavar="SHELL", help=about)


def command_help(form: Form, everything: bool) -> str:
    """The help of a command."""
    everything = everything or not form.common
    flags = form.flags if everything else _common(form)
    positional = [one for one in form.flags if one.positional]
    words = [f"{one.name} [{one.name} ...]" if one.many else one.name for one in positional]
    words = [word if one.default is MISSING else f"[{word}]" for word, one in zip(words, positional, strict=True)]
    parser = _parser(" ".join([form.program, *words, "[options]"]), form.about)
    if positional:
        group = parser.add_argument_group("arguments")
        for one in positional:
            group.add_argument(one.path, metavar=one.name, help=one.help.replace("%", "%%"))
    group = parser.add_argument_group("options")
    _fill(parser, flags, {"options": group})
    group.add_argument(*HELP, action="store_true", help="Show this help and exit")
    if form.common:
        group.add_argument(HELP_ALL, action="store_true", help="Show all options and exit")
    parts = [parser.format_help()]
    known = {one.path: one.kind for one in form.flags}
    shown = set[tuple[str, Group | None]]()  # a bonus may reward, balance or both, with the same settings
    for other in form.more if everything else ():
        section, new = _parser(argparse.SUPPRESS, None), [one for one in other.flags if known.get(one.path) != one.kind]
        _fill(section, [one for one in new if (one.path, one.group) not in shown], {})
        shown |= {(one.path, one.group) for one in new}
        parts.append(section.format_help())
    return "\n".join(
        [part for part in parts if part] + ([_parser(argparse.SUPPRESS, form.note).format_help()] if form.note else [])
    )


def _common(form: Form) -> list[Flag]:
    """The flags of the short help: single ones under "options", in the given order, and whole groups."""
    flags = {one.path: one for one in form.flags}
    single = [replace(flags[path], group=None) for path in form.common if path in flags]
    groups = [one for one in form.flags if any(one.path.startswith(f"{path}.") for path in form.common)]
    return single + groups


def _fill(parser: argparse.ArgumentParser, flags: Iterable[Flag], groups: dict[str, argparse._ArgumentGroup]) -> None:
    for one in flags:
        if one.positional:
            continue
        title = one.group.title if one.group else "options"
        if title not in groups:
            groups[title] = parser.add_argument_group(title, one.group.about if one.group else None)
        add_option(groups[title], one)


class _Layout(argparse.HelpFormatter):
    """Lines that fit the screen; names are not broken at hyphens."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=COLUMN, width=min(WIDTH, shutil.get_terminal_size().columns) - 2)
        self._action_max_length = COLUMN  # the same column in all parts

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)


def _parser(usage: str, about: str | None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(usage=usage, description=about, add_help=False, formatter_class=_Layout)
