"""A connection to Ray: an instance that only this machine can reach, or a cluster that the user has named."""

import contextlib
import importlib.util
import logging
import os
import secrets
import signal
import socket
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from action_balance.config.cluster import ClusterConfig
from action_balance.errors import UserError
from action_balance.files import missing, reason
from action_balance.machine import cores
from action_balance.signals import SIGNALS
from action_balance.web.format import count

#: The extra that installs Ray.
EXTRA = "cluster"

#: Bytes of the object store of an instance of our own, which carries short messages only.
OBJECT_STORE = 128 * 2**20

#: Share of a GPU's memory that the runs on it may allocate.
GPU_MEMORY = 0.9

#: Seconds to wait for an answer of a cluster.
CONNECT = 10.0

#: Ray's variable without which it opens its ports to other machines, also for an instance on one machine.
CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"

#: Ray's variable that says whether processes need a token to connect.
AUTHENTICATION = "RAY_AUTH_MODE"


@dataclass(frozen=True)
class Resources:
    """What each run reserves, and what there is."""

    cpus: float  # cores of a run
    gpus: float  # of a run; it can be a fraction
    all_cpus: float  # of all nodes
    all_gpus: float
    nodes: int
    fits: bool = True  # whether a node is large enough for a run

    @property
    def slots(self) -> int:
        """How many runs fit, if no node leaves a rest."""
        by_gpu = [self.all_gpus / self.gpus] if self.gpus else []
        return max(1, int(min([self.all_cpus / self.cpus, *by_gpu]) + 1e-6))

    @property
    def description(self) -> str:
        gpus = f" and {count(int(self.all_gpus), 'GPU')}" if self.all_gpus else ""
        nodes = f" of {self.nodes} nodes" if self.nodes > 1 else ""
        return f"Ray with {count(int(self.all_cpus), 'core')}{gpus}{nodes}, up to {count(self.slots, 'run')} at once"

    @property
    def variables(self) -> dict[str, str]:
        if not self.gpus:
            return {"JAX_PLATFORMS": "cpu"} if self.all_gpus else {}
        return {"XLA_PYTHON_CLIENT_MEM_FRACTION": f"{GPU_MEMORY * self.gpus:.3f}"} if self.gpus < 1 else {}

    @property
    def options(self) -> dict[str, Any]:
        made: dict[str, Any] = {"num_cpus": self.cpus, "num_gpus": self.gpus}
        return made | ({"runtime_env": {"env_vars": self.variables}} if self.variables else {})


def check_cluster(config: ClusterConfig) -> None:
    """Raise a `UserError` if runs cannot be trained there, before something is deleted to train them anew."""
    with ray_session(config):
        pass


def check_installed(need: str = "--on ray", package: str = "ray") -> None:
    """Raise a `UserError` that says what to install if a package of the extra is not installed."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise missing(package, need, EXTRA)


@contextmanager
def ray_session(config: ClusterConfig) -> Iterator[Resources]:
    """Connect to Ray while the body works.

    Without an address, Ray's processes are started on this machine; they listen on the loopback interface only, without
    a dashboard, and end with this process.
    """
    check_installed()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if config.address is None:
        os.environ[CLUSTERS] = "0"
        if AUTHENTICATION not in os.environ:  # other users of this machine can reach the loopback interface, too
            os.environ |= {AUTHENTICATION: "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    with _quiet():
        import ray

        worker = ray._private.worker
        if hasattr(worker, "print_to_stdstream"):  # dozens of lines whenever a node is lost, also without log_to_driver
            worker.print_to_stdstream = lambda *_, **__: None
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        try:
            # Ray puts the current folder first on the path of its processes, where a file could replace a library.
            with contextlib.chdir(sys.prefix):
                _connect(ray, config)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        try:
            resources = plan(config, [node["Resources"] for node in ray.nodes() if node["Alive"]])
            if resources.all_gpus:  # they are left to the runs: this process analyses results on the CPU
                import jax

                with contextlib.suppress(RuntimeError):  # JAX has started
                    jax.config.update("jax_platforms", "cpu")
            yield resources
        finally:
            ray.shutdown()


def _connect(ray: Any, config: ClusterConfig) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
    if config.address is None:
        options |= {"num_cpus": cores(), "include_dashboard": False, "object_store_memory": OBJECT_STORE}
    try:
        if config.address not in (None, "auto"):  # where nothing answers, Ray would try for many minutes
            host, _, port = config.address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT).close()
        ray.init(address=config.address or "local", **options)
    except (RuntimeError, ValueError, OSError, ray.exceptions.RayError) as error:
        if config.address is None:
            raise UserError(f"cannot start Ray: {reason(error)}") from None
        raise UserError(
            f"no Ray cluster answers at {config.address} ({reason(error)}): start one with `ray start --head`, or "
            f"leave out --address to use this machine alone"
        ) from None


def plan(config: ClusterConfig, nodes: list[Mapping[str, float]]) -> Resources:
    all_cpus, all_gpus = (sum(node.get(kind, 0.0) for node in nodes) for kind in ("CPU", "GPU"))
    gpus = config.gpus_per_run if config.gpus_per_run is not None else min(1.0, all_gpus)
    cpus = config.cpus_per_run
    if cpus is None:
        shares = [node.get("CPU", 0.0) / node["GPU"] for node in nodes if node.get("GPU")] if gpus else []
        cpus = float(max(1, int(gpus * min(shares)))) if shares else 1.0
    fits = any(node.get("CPU", 0.0) >= cpus and node.get("GPU", 0.0) >= gpus for node in nodes)
    if not fits and config.address is None:
        raise UserError(
            f"this machine has {count(int(all_cpus), 'core')} and {count(int(all_gpus), 'GPU')}, and a run is to "
            f"reserve {cpus:g} and {gpus:g}: use smaller --cpus-per-run and --gpus-per-run"
        )
    return Resources(cpus, gpus, all_cpus, all_gpus, len(nodes), fits)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Ray's own messages from the screen; what matters is an exception, or a line of ours."""
    log = logging.getLogger("ray")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"ray(\.|$)")
            warnings.filterwarnings("ignore", message=r"os\.fork\(\) was called")  # Ray starts its processes so
            warnings.filterwarnings("ignore", message=".*RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO.*")
            yield
    finally:
        log.setLevel(before)
