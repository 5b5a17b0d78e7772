"""``--list-runs``: a self-contained command for each run of a study, for the array jobs of a cluster."""

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from action_balance.studies.settings_text import command_line, flat

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def run_commands(
    study: str, settings: "DataclassInstance", out: Path, names: Sequence[str], more: Sequence[str] = ()
) -> list[str]:
    """The commands that train runs of a study."""
    begin = shlex.join(["action-balance", *study.split(), "--out", str(out.absolute())])
    plain, defaults = (flat(json.loads(json.dumps(asdict(one)))) for one in (settings, type(settings)()))
    line = command_line(begin, plain, defaults)
    return [f"{line} {shlex.join([*more, '--only', name])}" for name in names]


def list_runs(
    study: str,
    settings: "DataclassInstance",
    out: Path,
    names: Sequence[str],
    more: Sequence[str],
    console: Console,
) -> None:
    """Print the commands; see `run_commands`."""
    for line in run_commands(study, settings, out, names, more):
        print(line, file=console.file)  # as it is, even if a shell has to quote it
