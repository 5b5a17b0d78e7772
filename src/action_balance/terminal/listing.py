"""What there is: tables on a terminal, plain lines where the output is a pipe or a file, or JSON."""

import json
from collections.abc import Mapping, Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from action_balance.catalog import KINDS, Item, Kind, catalog
from action_balance.errors import UserError
from action_balance.terminal.console import say

#: Columns of a table besides name and description, by kind: the entry, and its heading.
COLUMNS: Mapping[Kind, Mapping[str, str]] = {
    "environments": {},
    "methods": {"intrinsic": "--intrinsic", "action_bonus": "--action-bonus"},
    "bonuses": {"intrinsic": "--intrinsic", "action_bonus": "--action-bonus"},
    "presets": {"envs": "--envs", "steps": "--steps"},
    "tasks": {},
    "games": {},
}


def show(kind: Kind | None, gym: bool, as_json: bool, console: Console) -> None:
    if gym and kind not in (None, "environments"):
        raise UserError("--gym applies only to environments: leave it out, or list environments")
    kinds = KINDS if kind is None else (kind,)
    found = {one: catalog(one, gym) for one in kinds}
    if as_json:
        say(console, *json.dumps(found if kind is None else found[kind], indent=2).splitlines())
    elif console.is_terminal:
        for one in kinds:
            _show_table(console, one, found[one], whole=kind is not None)
    else:
        rows = [(*([one] if kind is None else []), item["name"], item["about"]) for one in kinds for item in found[one]]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for row in rows:
            say(console, "  ".join(f"{word:<{width}}" for word, width in zip(row, widths, strict=True)).rstrip())


def _show_table(console: Console, kind: Kind, items: Sequence[Item], whole: bool) -> None:
    shown = [item for item in items if whole or item.get("of_paper", item.get("example", True))]
    table = Table(title=kind.capitalize(), title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("name", no_wrap=True)
    for heading in COLUMNS[kind].values():
        table.add_column(heading)
    table.add_column("", overflow="fold")
    for item in shown:
        table.add_row(item["name"], *(_cell(item[one]) for one in COLUMNS[kind]), item["about"])
    console.print(table)
    if len(shown) < len(items):
        say(console, f"  {len(items) - len(shown)} more: action-balance list {kind}", "")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "-"
    return f"{value:,}" if isinstance(value, int) else "-" if value == "none" else str(value)
