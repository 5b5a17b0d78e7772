"""The command ``sweep``, whose flags are those of ``train``, and more."""

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_origin

from action_balance.cli.form import Command, Flag, Form
from action_balance.cli.train import Train, without_effect
from action_balance.config.agent import AgentConfig
from action_balance.config.bonuses import bonus_settings
from action_balance.config.cluster import ClusterConfig
from action_balance.config.env import EnvConfig
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.studies.sweep.settings import SearchConfig, SweepSettings
from action_balance.studies.sweep.space import Choice, Setting, Space, parse_space

if TYPE_CHECKING:
    from rich.console import Console

#: What the short help shows before and after what that of `train` does.
SEARCH = tuple(f"search.{one.name}" for one in fields(SearchConfig))
CLUSTER = ("address", "cpus_per_run", "gpus_per_run", "max_crashes")

#: Settings that cannot vary: the environment itself, the length of the training, and what is only a name.
FIXED = ("env.name", "steps", "preset", "algorithm.name")

#: Settings that decide which others have an effect.
DECIDING = ("method", "intrinsic", "action_bonus", "network.memory", "exploration.action_coef")


@dataclass(frozen=True)
class Sweep(Command):
    """Search for good settings of the neural agent with Optuna and Ray. The best are trained again with fresh seeds.

    The same command continues a sweep that was interrupted. It needs the extra cluster.
    """

    settings: TrainConfig
    search: SearchConfig = field(default_factory=SearchConfig)
    config: Path | None = None
    """Start from the settings in a TOML or JSON file, or from an earlier run, given as its config.json or its
    folder. Flags override these settings."""
    trust: bool = False
    """With --config: import the modules named in the file or the earlier run, which runs their code."""
    out: Path | None = None
    """Folder of the sweep (default: sweeps/ENV-METHOD)."""
    overwrite: bool = False
    """Replace the sweep that is already in that folder, with all its runs."""
    address: str | None = field(default=None, metadata={"metavar": "HOST:PORT"})
    """Address of a running Ray cluster, or auto for the one that this machine belongs to (default: a Ray instance of
    this command's own, which only this machine can reach)."""
    cpus_per_run: float | None = None
    """CPU cores that each trial reserves (default: 1; with GPUs, the cores of a node per GPU)."""
    gpus_per_run: float | None = None
    """GPUs that each trial reserves, such as 0.5 for two trials per GPU (default: 1, or 0 without GPUs)."""
    max_crashes: int = 10
    """Crashes of its process after which a trial is given up."""

    def __post_init__(self) -> None:
        _ = self.sweep, self.cluster  # their checks

    @classmethod
    def form(cls, name: str, words: Sequence[str]) -> Form:
        """The flags of the environment that was typed, as those of `train`."""
        return Train.form(name, words, Form(name, SearchConfig).flags, _as_sweep)

    @classmethod
    def variants(cls, name: str) -> dict[str, Form]:
        """The flags of every family of environments, and of every bonus."""
        return {label: _as_sweep(form) for label, form in Train.variants(name).items()}

    @property
    def sweep(self) -> SweepSettings:
        """The sweep, checked."""
        space = parse_space(self.search.set, list(_settings(self.settings)), self.settings)
        _check_effects(space, self.settings)
        return SweepSettings(self.settings, space, self.search)

    @property
    def cluster(self) -> ClusterConfig:
        """Where trials are trained."""
        return ClusterConfig("ray", self.address, self.cpus_per_run, self.gpus_per_run, self.max_crashes)

    def load(self) -> Callable[["Console"], None]:
        """Import the sweep."""
        from action_balance.cluster.session import check_installed
        from action_balance.studies.sweep import KIND

        for package in ("ray", "optuna"):
            check_installed(KIND, package)
        from action_balance.studies.sweep.run import sweep

        label = re.sub(r"[^\w.+-]", "-", self.settings.agent.label)
        out = self.out or Path("sweeps") / f"{self.settings.env.slug}-{label}"
        return partial(sweep, self.sweep, out, self.overwrite, self.cluster)


def _as_sweep(form: Form) -> Form:
    """The form of `train` as that of `sweep`, which has fewer flags of its own, and others."""
    return replace(
        form,
        kind=Sweep,
        common=(*SEARCH, *form.common, *CLUSTER),
        unused={path: need for path, need in form.unused.items() if path != "track_project"},
        note=form.note.replace("action-balance train", "action-balance sweep"),
        more=tuple(_as_sweep(one) for one in form.more),
    )


@dataclass(frozen=True)
class _Varying:
    """The settings of a run that can vary."""

    agent: AgentConfig
    env: EnvConfig


def _settings(config: TrainConfig) -> Iterator[Setting]:
    """All settings of a run that can vary, with their flags."""
    bonuses = {name: kind() for name in config.agent.bonus_names if (kind := bonus_settings(name))}
    kinds = {"env": type(config.env), "agent.algorithm": type(config.agent.algorithm), "agent.bonus_settings": bonuses}
    form = Form("sweep", _Varying, {"agent": config.agent, "env": config.env}, kinds)
    for one in form.flags:
        name = one.path.removeprefix("agent.")
        if name not in FIXED and get_origin(one.kind) is not tuple and not one.parsed:
            yield Setting(name, one.name, one.kind, partial(_read, one))


def _read(flag: Flag, text: str) -> Any:
    return flag.value([text])


def _check_effects(space: Space, config: TrainConfig) -> None:
    """Raise a `UserError` if a setting has no effect, whichever values the others have."""
    deciding = Space(tuple(axis for axis in space.axes if axis.name in DECIDING and isinstance(axis, Choice)))
    unused = _without_effect(config.agent)
    for values in deciding.combinations():
        with contextlib.suppress(UserError):
            changed = _without_effect(space.apply(config, values).agent)
            unused = {name: need for name, need in unused.items() if name in changed}
    for name in space.names:
        if name in unused:
            need = unused[name]
            other = f"add {need}" if need.startswith("--") else "choose another --method"
            raise UserError(f"--set {name} needs {need}: leave it out, or {other}")


def _without_effect(agent: AgentConfig) -> dict[str, str]:
    """The settings that have no effect on an agent, each with what it would need."""
    return without_effect(agent.bonus_names, agent.intrinsic_name, agent.adapts, bool(agent.recurrent_units))
