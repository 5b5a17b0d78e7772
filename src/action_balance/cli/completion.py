"""Tab completion: scripts for shells, made by shtab from all commands."""

import argparse
from collections.abc import Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Any

from action_balance.cli.form import PROGRAM, Flag, Form
from action_balance.cli.help import COMPLETION, HELP
from action_balance.config.fields import element, options
from action_balance.errors import check_name


def completion(shell: str, commands: Mapping[str, list[Form]], groups: Mapping[str, str]) -> str:
    """The script for a shell."""
    import shtab

    check_name("shell", shell, shtab.SUPPORTED_SHELLS)
    root = argparse.ArgumentParser(prog=PROGRAM)
    root.add_argument("--version", action="store_true", help="Show the version and exit")
    root.add_argument(COMPLETION, choices=shtab.SUPPORTED_SHELLS, help="Print a shell completion script")
    children: dict[str, Any] = {"": root.add_subparsers()}
    for name, forms in commands.items():
        group, _, last = name.rpartition(" ")
        if group not in children:
            children[group] = children[""].add_parser(group, help=groups[group]).add_subparsers()
        about = forms[0].kind.summary()
        parser = children[group].add_parser(last, help=about, description=about, add_help=False)
        parser.add_argument(*HELP, action="store_true", help="Show this help and exit")
        for one in {one.name: one for form in reversed(forms) for one in form.flags}.values():
            action = _add(parser, one)
            if one.names:
                action.choices = one.names
            elif Path in options(element(one.kind) or one.kind):
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(root, shell))


def _add(parser: argparse.ArgumentParser, one: Flag) -> argparse.Action:
    about = one.help.replace("%", "%%")
    if one.positional:
        several = "+" if one.many else None if one.default is MISSING else "?"
        return parser.add_argument(one.path, nargs=several, help=about)
    if one.kind is bool:
        return parser.add_argument(one.name, f"--no-{one.name[2:]}", action="store_true", help=about)
    return parser.add_argument(one.name, nargs="*" if one.many else None, help=about)
