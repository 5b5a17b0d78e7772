"""Tab completion: scripts for shells, made by shtab from all commands."""

import argparse
from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from action_balance.cli.form import PROGRAM, Form
from action_balance.cli.help import HELP, add_general_options
from action_balance.cli.parser import add_option
from action_balance.config import fields as values
from action_balance.errors import check_name


def completion(shell: str, commands: Mapping[str, list[Form]], groups: Mapping[str, str]) -> str:
    """The script for a shell."""
    import shtab

    check_name("shell", shell, shtab.SUPPORTED_SHELLS)
    root = argparse.ArgumentParser(prog=PROGRAM, add_help=False)
    add_general_options(root).choices = shtab.SUPPORTED_SHELLS
    children: dict[str, Any] = {"": root.add_subparsers()}
    for name, forms in commands.items():
        group, _, last = name.rpartition(" ")
        if group not in children:
            children[group] = children[""].add_parser(group, help=groups[group], add_help=False).add_subparsers()
        _fill(children[group].add_parser(last, help=forms[0].about, add_help=False), forms, shtab.FILE)
    return str(shtab.complete(root, shell))


def _fill(parser: argparse.ArgumentParser, forms: list[Form], files: object) -> None:
    parser.add_argument(*HELP, action="store_true", help="Show this help and exit")
    known: set[str] = set()
    for form in forms:
        for one in form.flags:
            if one.name in known:
                continue
            known.add(one.name)
            if one.positional:
                several = "+" if one.many else None if one.default is MISSING else "?"
                action = parser.add_argument(one.path, nargs=several, help=one.help.replace("%", "%%"))
            else:
                action = add_option(parser, one)
            kind = values.element(one.kind) or one.kind
            words = [*form.choices.get(one.path, values.choices(kind))]
            if words:
                action.choices = words
            elif Path in values.options(kind):
                action.complete = files  # type: ignore[attr-defined]
