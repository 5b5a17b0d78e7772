"""Settings as pages and commands show them."""

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from action_balance.errors import flag
from action_balance.files import Data

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def plain(settings: "DataclassInstance") -> Data:
    found: Data = json.loads(json.dumps(asdict(settings)))
    return found


def flat(settings: Mapping[str, object], without: Collection[str] = ()) -> Data:
    found: Data = {}
    for name, value in settings.items():
        if name not in without and value is not None:
            found |= flat(value, without) if isinstance(value, Mapping) else {name: value}
    return found


def command_line(
    command: str, settings: Mapping[str, object], defaults: Mapping[str, object], always: Collection[str] = ()
) -> str:
    """The command that has these settings, with a flag for each that is not the default."""
    words = [command]
    for name, value in settings.items():
        if name in always or defaults.get(name) != value:
            values = value if isinstance(value, list) else [value]
            words += [flag(name), *(",".join(map(str, one)) if isinstance(one, list) else str(one) for one in values)]
    return " ".join(words)


def run_commands(study: str, settings: "DataclassInstance", out: Path, names: Sequence[str]) -> list[str]:
    """The commands that train runs of a study one by one, for the array jobs of a cluster."""
    begin = shlex.join(["action-balance", *study.split(), "--out", str(out.absolute())])
    line = command_line(begin, flat(plain(settings)), flat(plain(type(settings)())))
    return [f"{line} --only {shlex.quote(name)}" for name in names]
