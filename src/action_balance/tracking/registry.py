"""The trackers by name: their modules are imported when they are used."""

import importlib
import importlib.util
from collections.abc import Iterable, Sequence
from typing import cast, get_args

from action_balance.arguments import as_texts
from action_balance.errors import check_name
from action_balance.files import missing
from action_balance.tracking.base import Name, TrackConfig, Tracker

#: Names of all trackers.
NAMES: tuple[str, ...] = get_args(Name)

#: Class of each tracker. TensorBoard has none: where it is installed, the run folder has its event files anyway.
CLASSES = {
    "wandb": "action_balance.tracking.wandb:WandbTracker",
    "mlflow": "action_balance.tracking.mlflow:MlflowTracker",
}


def check_installed(names: Iterable[str]) -> None:
    for name in names:
        check_name("tracker", name, NAMES)
        found = importlib.util.find_spec(name)
        if found is None or found.origin is None:  # a folder without code, such as the one that wandb writes to
            raise missing(name, f"--track {name}", name)


def track_config(names: str | Sequence[str] = (), project: str | None = None) -> TrackConfig:
    known = as_texts("track", names)
    check_installed(known)
    return TrackConfig(cast(tuple[Name, ...], known), project)


def make(name: str) -> Tracker:
    module, _, attribute = CLASSES[name].partition(":")
    made: Tracker = getattr(importlib.import_module(module), attribute)()
    return made
