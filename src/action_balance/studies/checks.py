"""Checks of settings that several studies share. Importing them loads no JAX."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from action_balance.config.agent import HostConfig
from action_balance.config.train import TrainConfig
from action_balance.errors import MAX, UserError, check_name

#: Most seeds of a study that trains one run after the other.
MAX_SEEDS = 10_000


def check_count(name: str, value: int, least: int = 1, most: int = MAX) -> None:
    if value < least:
        raise UserError(f"{name} must be {least} or more, not {value}")
    if value > most:
        raise UserError(f"{name} must be at most {most}, not {value}")


def check_seeds(seed: int, seeds: int, most: int = MAX) -> None:
    check_count("--seeds", seeds, most=most)
    check_count("--seed", seed, 0)
    if seed + seeds > MAX:
        raise UserError(f"--seed must be below {MAX + 1 - seeds}, not {seed}")


def check_once(runs: Sequence[Path]) -> None:
    seen: dict[Path, Path] = {}
    for path in runs:
        if (first := seen.setdefault(path.resolve(), path)) is not path:
            raise UserError(f"{first} and {path} are the same run: give it only once")


def check_names(kind: str, names: tuple[str, ...], known: Collection[str]) -> None:
    if not names:
        raise UserError(f"give at least one {kind}: choose from {', '.join(known)}")
    for name in names:
        check_name(kind, name, known)
        if names.count(name) > 1:
            raise UserError(f"{kind} {name} is given twice: give each only once")


def as_begun(config: TrainConfig, host: HostConfig) -> TrainConfig:
    """A planned config with the lag and groups that a run chose when it began, where the plan leaves them open."""
    planned = config.agent.host
    chosen = {name: getattr(host, name) for name in ("lag", "groups") if getattr(planned, name) is None}
    return replace(config, agent=replace(config.agent, host=replace(planned, **chosen)))
