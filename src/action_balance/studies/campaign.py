"""Training runs that a study needs: begun, continued or found finished."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from action_balance.config.agent import HostConfig
from action_balance.config.train import TrainConfig
from action_balance.engines import loop
from action_balance.engines.metrics_rows import Progress
from action_balance.errors import UserError
from action_balance.runs import RunFolder


def is_finished(path: Path, config: TrainConfig) -> bool:
    """Whether the run is there, whole; a `UserError` where the folder holds a run with another config."""
    if not RunFolder.holds_run(path):
        return False
    folder = RunFolder.open(path)
    stored = TrainConfig.from_dict(folder.config)
    if stored != as_begun(config, stored.agent.host):
        raise UserError(f"{path} holds a run with other settings: choose another --out, or replace it with --overwrite")
    return bool(folder.manifest.get("status") == "finished")


def as_begun(config: TrainConfig, host: HostConfig) -> TrainConfig:
    """A config with what a run chooses when it begins, lag and groups, as this run has chosen it."""
    asked = config.agent.host
    chosen = {name: getattr(host, name) for name in ("lag", "groups") if getattr(asked, name) is None}
    return replace(config, agent=replace(config.agent, host=replace(asked, **chosen)))


def train(path: Path, config: TrainConfig, command: Sequence[str], tell: Callable[[Progress], None]) -> tuple[str, ...]:
    """Train what is missing of a run; returns what the user should know."""
    if is_finished(path, config):
        return ()
    if RunFolder.holds_run(path):
        warnings: list[str] = []
        loop.resume(RunFolder.open(path), command, tell, warnings.append)
        return tuple(warnings)
    loop.begin(path, config.with_defaults(), command, tell)
    return ()
