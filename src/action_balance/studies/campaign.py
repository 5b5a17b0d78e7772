"""Training runs that a study needs: begun, continued or found finished."""

from collections.abc import Callable, Sequence
from pathlib import Path

from action_balance.agent import loop
from action_balance.agent.loop import Progress, TrainConfig
from action_balance.errors import UserError
from action_balance.runs import RunFolder


def is_finished(path: Path, config: TrainConfig) -> bool:
    """Whether the run is there, whole; a `UserError` where the folder holds a run with another config."""
    if not RunFolder.holds_run(path):
        return False
    folder = RunFolder.open(path)
    if TrainConfig.from_data(folder.config) != config:
        raise UserError(f"{path} holds a run with other settings: choose another --out, or replace it with --overwrite")
    return bool(folder.manifest.get("status") == "finished")


def train(path: Path, config: TrainConfig, command: Sequence[str], tell: Callable[[Progress], None]) -> tuple[str, ...]:
    """Train what is missing of a run; returns what the user should know."""
    if is_finished(path, config):
        return ()
    if RunFolder.holds_run(path):
        return loop.resume(RunFolder.open(path), command, tell)
    loop.begin(RunFolder.create(path, config.as_data(), command), config, tell)
    return ()
