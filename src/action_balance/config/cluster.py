"""Settings of training runs on a cluster. Nothing here imports Ray or JAX."""

from dataclasses import dataclass, field, fields
from typing import ClassVar, Literal

from action_balance.config.fields import Settings, count, number
from action_balance.errors import UserError, flag

#: Where runs can be trained, other than one after the other in this process.
Backend = Literal["ray"]

#: Most processors of one run.
MAX_PROCESSORS = 10_000


@dataclass(frozen=True)
class RunChoice(Settings):
    """Train the runs of a study one by one, such as in the array jobs of a cluster."""

    settings_title: ClassVar[str] = "settings for single runs"

    list_runs: bool = False
    """Print a command for each run that is not finished, and train nothing. The commands can be executed anywhere, in
    any order, and again after they were killed."""
    only: str | None = field(default=None, metadata={"metavar": "RUN"})
    """Train this run only, and write no report; --list-runs prints the names."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.list_runs and self.only is not None:
            raise UserError("--list-runs trains nothing: leave out --only or --list-runs")

    def check(self, cluster: "ClusterConfig", **others: bool) -> None:
        """Raise a `UserError` if the runs cannot be chosen together with other flags."""
        chosen = "--only" if self.only is not None else "--list-runs" if self.list_runs else None
        if chosen is None:
            return
        for name, given in {"on": cluster.is_wanted, **others}.items():
            if given:
                raise UserError(f"{chosen} and {flag(name)} exclude each other: leave out one of them")


@dataclass(frozen=True)
class ClusterConfig(Settings):
    """Train runs in parallel with Ray, on this machine or on a cluster."""

    on: Backend | None = None
    """Train every run as a Ray task, in parallel; needs the extra cluster. Killed runs continue from their last
    checkpoint, and the same command continues a campaign."""
    address: str | None = field(default=None, metadata={"metavar": "HOST:PORT"})
    """With --on ray: address of a running Ray cluster, or auto for the one that this machine belongs to (default: a
    Ray instance of this command's own, which only this machine can reach)."""
    cpus_per_run: float | None = number(None, high=MAX_PROCESSORS, above=True)
    """With --on ray: CPU cores that each run reserves (default: 1; with GPUs, the cores of a node per GPU)."""
    gpus_per_run: float | None = number(None, high=MAX_PROCESSORS)
    """With --on ray: GPUs that each run reserves, such as 0.5 for two runs per GPU (default: 1, or 0 without GPUs)."""
    max_crashes: int = count(10, 10_000)
    """With --on ray: crashes in a row, without progress, after which a run is given up. Lost machines do not count."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gpus_per_run is not None and self.gpus_per_run > 1 and self.gpus_per_run != int(self.gpus_per_run):
            raise UserError(f"--gpus-per-run must be at most 1, or a whole number, not {self.gpus_per_run:g}")
        if self.address is not None:
            self._check_address(self.address)
        self._check_used()

    @property
    def is_wanted(self) -> bool:
        """Whether runs are trained by Ray."""
        return self.on is not None

    def _check_address(self, address: str) -> None:
        if "://" in address:
            raise UserError(
                f"--address must be HOST:PORT of a cluster that this machine belongs to, or auto, not {address!r:.60}; "
                "to start from another machine, use `ray job submit`"
            )
        host, _, port = address.rpartition(":")
        if address != "auto" and not (host and port.isascii() and port.isdigit() and 0 < int(port) < 2**16):
            raise UserError(f"--address must be HOST:PORT, such as node1:6379, or auto, not {address!r:.60}")

    def _check_used(self) -> None:
        if self.on is not None:
            return
        for one in fields(self):
            if getattr(self, one.name) != one.default:
                raise UserError(f"{flag(one.name)} needs --on ray: add it, or leave out {flag(one.name)}")
