"""Settings of a run over several processes, on one host or on several. Nothing here imports JAX."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from action_balance.errors import UserError, check_numbers

#: Environment variables that stand for flags, by the name of the setting.
VARIABLES = {
    "coordinator": "JAX_COORDINATOR_ADDRESS",
    "processes": "JAX_NUM_PROCESSES",
    "process_id": "JAX_PROCESS_ID",
}

#: Most processes of a run, and the largest port.
MAX_PROCESSES, MAX_PORT = 65_536, 65_535


@dataclass(frozen=True)
class HostsConfig:
    """Train on several hosts: start the same command on each, with its own --process-id."""

    distributed: bool = False
    """Find the other processes with the variables of SLURM, Open MPI or JAX."""
    coordinator: str | None = field(default=None, metadata={"metavar": "HOST:PORT"})
    """Address of process 0, which all hosts can reach, with a free port."""
    processes: int | None = None
    """Number of processes."""
    process_id: int | None = None
    """Number of this process, from 0 on. Process 0 writes the run and reports progress."""
    start_timeout: int = 300
    """Seconds to wait for the other processes."""

    def __post_init__(self) -> None:
        check_numbers(self, "start_timeout", low=1, high=86_400)
        if self.processes is not None:
            check_numbers(self, "processes", low=1, high=MAX_PROCESSES)
        if self.process_id is not None:
            check_numbers(self, "process_id", low=0, high=(self.processes or MAX_PROCESSES) - 1)
        if self.coordinator is not None:
            _ = self.address

    @property
    def is_wanted(self) -> bool:
        """Whether this process is one of several."""
        return self.distributed or any(getattr(self, name) is not None for name in VARIABLES)

    @property
    def is_complete(self) -> bool:
        """Whether nothing has to be detected."""
        return all(getattr(self, name) is not None for name in VARIABLES)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of process 0."""
        host, _, port = (self.coordinator or "").rpartition(":")
        if not host or not (port.isascii() and port.isdigit()) or not 0 < int(port) <= MAX_PORT:
            raise UserError(f"--coordinator must be HOST:PORT, such as node1:12345, not {self.coordinator!r:.60}")
        return host.strip("[]"), int(port)

    def with_environment(self, environment: Mapping[str, str]) -> "HostsConfig":
        """Take what flags leave open from the variables of JAX."""
        if not self.is_wanted:
            return self
        found: dict[str, Any] = {}
        for name, variable in VARIABLES.items():
            text = environment.get(variable, "").strip()
            if getattr(self, name) is None and text:
                found[name] = text if name == "coordinator" else _whole(variable, text)
        settings = replace(self, **found)
        if not settings.is_complete and not self.distributed:
            missing = [f"--{name.replace('_', '-')}" for name in VARIABLES if getattr(settings, name) is None]
            raise UserError(
                f"several processes also need {' and '.join(missing)}; on a cluster with SLURM or Open MPI, use "
                f"--distributed alone"
            )
        return settings


def _whole(variable: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise UserError(f"{variable} must be a whole number, not {text!r:.60}") from None
