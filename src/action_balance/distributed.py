"""Several processes that train one run together, each with its own devices: how they meet, and how they talk.

Process 0 leads: it decides what is done next, and announces it. The others follow. Announcements and reports are short
texts in the key-value store of JAX's coordination service, which process 0 hosts; arrays travel between devices.
"""

import contextlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from action_balance.config.hosts import HostsConfig
from action_balance.errors import UserError
from action_balance.files import Data, reason
from action_balance.signals import leave_at_once

#: Seconds without a sign of life after which a process counts as dead, and all others end.
HEARTBEAT = 60
#: Seconds that processes wait for each other at the end.
CLOSING = 10
#: Seconds after our own limit when JAX would end the process, with less to say.
LATER = 60

#: Milliseconds of one wait for a text; between two of them, signals are noticed.
WAIT = 500
#: Texts after which old ones are deleted.
TOGETHER = 1000
#: Bytes that are broadcast at once.
PIECE = 1 << 26

#: What an error of the store says when there is no text yet.
NO_TEXT = ("NOT_FOUND", "DEADLINE_EXCEEDED")
#: What errors say when another process is gone.
GONE = ("Gloo", "NCCL", "UNAVAILABLE", "Connection closed by peer", "Connection reset by peer")


class ProcessLost(Exception):
    """Another process of the run has failed or is gone."""


class Channel:
    """What one process says to the others, and hears from them; all methods can be called from any thread."""

    def __init__(self, client: Any, process: int, processes: int) -> None:
        """Use a key-value store that all processes share."""
        self.process, self.processes = process, processes
        self._client, self._count, self._lock = client, 0, threading.Lock()

    @property
    def leads(self) -> bool:
        """Whether this is process 0."""
        return self.process == 0

    @property
    def followers(self) -> range:
        """The numbers of all other processes."""
        return range(1, self.processes)

    def announce(self, do: str, **about: Any) -> None:
        """Announce the next operation to the followers, which receive all announcements in order."""
        with self._lock:
            part, rest = divmod(self._count, TOGETHER)
            if rest == 0 and part > 1:
                self._client.key_value_delete(_key("next", part - 2))
            self.say(f"next/{part}/{self._count}", {"do": do, **about})
            self._count += 1

    def next(self, waiting: Callable[[], object] = lambda: None) -> Data:
        """Wait for the next announcement."""
        found = None
        while found is None:
            waiting()
            found = self.heard(f"next/{self._count // TOGETHER}/{self._count}", WAIT)
        self._count += 1
        return found

    def say(self, name: str, about: Data) -> None:
        """Leave data for the other processes; what was left under the same name is replaced."""
        self._client.key_value_set(_key(name), json.dumps(about), allow_overwrite=True)

    def heard(self, name: str, patience: int) -> Data | None:
        """Data that a process has left, or leaves within so many milliseconds; None if there are none."""
        try:
            return dict(json.loads(self._client.blocking_key_value_get(_key(name), max(1, patience))))
        except (RuntimeError, ValueError) as error:  # JAX's own error is a RuntimeError
            if any(sign in str(error) for sign in NO_TEXT):
                return None
            raise

    def reports(self, name: str) -> dict[int, Data]:
        """Data that followers have left under a name, by process."""
        found = self._client.key_value_dir_get(_key(name))
        return {int(key.rpartition("/")[2]): json.loads(text) for key, text in found}

    def report(self, name: str, **about: Any) -> None:
        """Leave data of this process for the leader."""
        self.say(f"{name}/{self.process}", about)

    def all_reported(self, name: str, seconds: float) -> bool:
        """Wait until all followers have left something under a name; whether they have in time."""
        end = time.monotonic() + seconds
        for process in self.followers:
            if self.heard(f"{name}/{process}", int(1000 * (end - time.monotonic()))) is None:
                return False
        return True


def _key(*parts: object) -> str:
    return "/".join(map(str, ("action-balance", *parts)))


_channels: list[Channel] = []  # of this process, or none


def channel() -> Channel | None:
    """The channel to the other processes; None if this process is alone."""
    return _channels[0] if _channels else None


def process_count() -> int:
    """Number of processes that train together; does not start JAX's devices."""
    return _channels[0].processes if _channels else 1


def is_leader() -> bool:
    """Whether this process writes the run: process 0, or one that is alone."""
    return not _channels or _channels[0].leads


@contextmanager
def started(settings: HostsConfig) -> Iterator[Channel | None]:
    """Meet the other processes, before anything else uses JAX's devices."""
    settings = settings.with_environment(os.environ)
    if not settings.is_wanted:
        yield None
        return
    if settings.is_complete and settings.process_id == 0:
        check_free(settings.address[1])
    timer = threading.Timer(settings.start_timeout, _give_up, [settings])
    timer.daemon = True
    timer.start()
    try:
        _initialize(settings)
        made = Channel(_store(), jax.process_index(), jax.process_count())
        _meet(made)
    except BaseException:
        leave_at_once()  # JAX would wait for the others
        raise
    finally:
        timer.cancel()
    if made.processes > 1:
        _channels.append(made)
    try:
        yield made if made.processes > 1 else None
    finally:
        _channels.clear()


def _initialize(settings: HostsConfig) -> None:
    with contextlib.suppress(AttributeError):  # of a version without it
        jax.config.update("jax_enable_preemption_service", False)  # it would take SIGTERM from `signals`
    try:
        jax.distributed.initialize(
            settings.coordinator,
            settings.processes,
            settings.process_id,
            cluster_detection_method="deactivate" if settings.is_complete else None,
            initialization_timeout=settings.start_timeout + LATER,
            heartbeat_timeout_seconds=HEARTBEAT,
            shutdown_timeout_seconds=CLOSING,
        )
    except (ValueError, TypeError, KeyError, IndexError, RuntimeError) as error:
        if not settings.is_complete and "defined" in str(error):
            raise UserError(
                "--distributed finds no variables of SLURM, Open MPI or JAX: start the command with srun or mpirun, or "
                "use --coordinator, --processes and --process-id"
            ) from None
        raise UserError(f"cannot start with the other processes: {reason(error)}") from None


def _store() -> Any:
    """The key-value store of the coordination service, for which JAX has no public name."""
    from jax._src.distributed import global_state

    return global_state.client


def check_free(port: int) -> None:
    """Raise a `UserError` if a port of this host is in use: JAX would crash."""
    kind = socket.AF_INET6 if socket.has_ipv6 else socket.AF_INET
    try:
        with socket.socket(kind) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # of a run that has just ended
            trial.bind(("", port))
            trial.listen()
    except OSError as error:
        raise UserError(f"process 0 cannot listen on port {port}: {reason(error)}; choose another port") from None


def missing(settings: HostsConfig) -> str:
    """What is said when the processes have not met in time."""
    count = f"the {settings.processes}" if settings.processes else "the"
    where = f" at {settings.coordinator}" if settings.coordinator else ""
    return (
        f"{count} processes did not meet{where} within {settings.start_timeout} seconds: start the same command for "
        f"each process, check that all hosts can reach process 0, or increase --start-timeout"
    )


def _give_up(settings: HostsConfig) -> None:
    """End the process: the call that waits for the others cannot be interrupted, and would crash in the end."""
    os.write(2, f"action-balance: {missing(settings)}\n".encode(errors="replace"))
    os._exit(2)


def _meet(made: Channel) -> None:
    """Let the devices of all processes find each other, and check that they are alike."""
    made.say(f"devices/{made.process}", {"count": jax.local_device_count(), "jax": jax.__version__})
    here = made.heard(f"devices/{made.process}", WAIT)
    for process in range(made.processes):
        other = None
        while other is None:
            other = made.heard(f"devices/{process}", WAIT)
        if other != here:
            raise UserError(
                f"process {process} has {other['count']} devices and JAX {other['jax']}, but process {made.process} "
                f"has {jax.local_device_count()} and JAX {jax.__version__}: all processes need the same"
            )
    if made.processes > 1:
        with _quiet():  # the two groups of devices that programs use
            _add_up()
            _from_leader(np.zeros(1, np.uint8))


def _add_up() -> None:
    """Add a number of every device, for which all of them connect to each other."""
    mesh = jax.make_mesh((jax.device_count(),), ("all",), (AxisType.Auto,))
    split, whole = NamedSharding(mesh, PartitionSpec("all")), NamedSharding(mesh, PartitionSpec())
    ones = jax.make_array_from_callback((jax.device_count(),), split, lambda _: np.ones(1, np.float32))
    jax.block_until_ready(jax.jit(jnp.sum, out_shardings=whole)(ones))


@contextmanager
def _quiet() -> Iterator[None]:
    """Discard what libraries print on stdout when they connect."""
    if jax.default_backend() != "cpu":
        yield
        return
    sys.stdout.flush()
    kept, nothing = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nothing, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nothing)


def _from_leader(piece: np.ndarray) -> np.ndarray:
    from jax.experimental.multihost_utils import broadcast_one_to_all

    return np.asarray(broadcast_one_to_all(piece))


def broadcast(arrays: Mapping[str, np.ndarray], piece: int = PIECE) -> dict[str, np.ndarray]:
    """Give all processes the arrays of the leader, bit for bit; all call it at the same time."""
    made = {name: np.array(array) for name, array in arrays.items()}  # contiguous copies
    flat = [array.reshape(-1).view(np.uint8) for array in made.values()]
    total = sum(len(one) for one in flat)
    buffer = np.zeros(min(piece, total), np.uint8)
    todo = [(one, begin) for one in flat for begin in range(0, len(one), piece)]
    filled: list[tuple[np.ndarray, int]] = []  # parts of arrays in the buffer, and where

    def send() -> None:
        for part, place in filled:
            buffer[place : place + len(part)] = part
        found = _from_leader(buffer)
        for part, place in filled:
            part[:] = found[place : place + len(part)]
        filled.clear()

    place = 0
    for one, begin in todo:
        part = one[begin : begin + piece]
        if place + len(part) > len(buffer):
            send()
            place = 0
        filled.append((part, place))
        place += len(part)
    if filled:
        send()
    return made


def is_loss(error: BaseException) -> bool:
    """Whether an error of a program says that another process is gone."""
    return any(sign in str(error) for sign in GONE)
