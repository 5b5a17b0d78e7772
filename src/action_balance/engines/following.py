"""A run on several hosts: process 0 runs the command, and the others do what its trainer announces, and write nothing.

However a process ends, the others end as well: a failure is reported to the leader, the end is announced by it, and
threads wait for both while the main thread computes. A process that is killed is noticed by JAX.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from action_balance.config.hosts import HostsConfig
from action_balance.config.train import TrainConfig
from action_balance.distributed import WAIT, Channel, broadcast, is_loss, started
from action_balance.engines.base import Trainer
from action_balance.engines.factory import make_trainer
from action_balance.engines.leading import LOST, failed
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.files import Data, reason
from action_balance.runs.tree_file import from_data, to_tree
from action_balance.signals import INTERRUPTED, abandon, graceful_stop, leave_at_once
from action_balance.tasks import Stop, Task, task

#: Seconds that followers have to answer at the end, also when the process is about to end at once.
ANSWER, ANSWER_NOW = 3.0, 0.5
#: Seconds that the main thread has to end by itself, once another process has.
PATIENCE = 5.0

#: What followers say of the run.
KEPT = "process 0 keeps the run"


def run(hosts: HostsConfig, lead: Callable[[], None], config_of: Callable[[Data], TrainConfig]) -> None:
    """Run a command on all processes."""
    with started(hosts) as channel:
        if channel is None:
            lead()
        elif channel.leads:
            _lead(channel, lead)
        else:
            _follow(channel, config_of)


def same_settings(config: TrainConfig, found: Data) -> TrainConfig:
    """Check that a process was started with the settings of the leader."""
    here = _flat(config.to_dict())
    there = _flat(found)
    for name in here | there:
        if here.get(name) != there.get(name):
            raise UserError(
                f"{name} is {here.get(name)} here, but {there.get(name)} in process 0: use the same command for all "
                f"processes"
            )
    return config


def _flat(data: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = list(value) if isinstance(value, tuple) else value
    return found


class _End:
    """The end of a run, which the leader announces once, from whatever thread is first."""

    def __init__(self, channel: Channel) -> None:
        self._channel, self._lock, self._said = channel, threading.Lock(), False

    def __call__(self, code: int, why: str, now: bool = False) -> None:
        """Announce it, and wait for the followers."""
        with self._lock:
            if self._said:
                return
            self._said = True
        about = {"code": code, "why": why, "now": now}
        self._channel.announce("end", **about)
        self._channel.say("end", about)
        if self._channel.all_reported("bye", ANSWER_NOW if now else ANSWER) and not now:
            jax.distributed.shutdown()
        else:
            leave_at_once()  # JAX would wait for those that are gone


def _lead(channel: Channel, lead: Callable[[], None]) -> None:
    end = _End(channel)
    ends_now = Task(ending=lambda: end(INTERRUPTED, "interrupted", now=True))
    with task(ends_now), _waiting(channel, "failure", lambda about: abandon(failed(about), 2)):
        code, why = 1, "it failed"
        try:
            lead()
            code, why = 0, ""
        except KeyboardInterrupt:
            code, why = INTERRUPTED, "interrupted"
            raise
        except UserError as error:
            code, why = 2, str(error)
            raise
        finally:
            with suppress(RuntimeError):  # of a store that is gone
                end(code, why)


def _follow(channel: Channel, config_of: Callable[[Data], TrainConfig]) -> None:
    def tell(why: str) -> None:
        with suppress(RuntimeError):
            channel.say("failure", {"process": channel.process, "why": why})

    def leave(about: Data) -> None:
        channel.report("bye")
        abandon(_line(about), about["code"] or 2)

    with (
        graceful_stop() as stop,
        task(Task(lambda: KEPT, stop, lambda: "stopping after this update", ending=lambda: tell("interrupted"))),
        _waiting(channel, "end", leave),
    ):
        try:
            _obey(channel, config_of, stop)
        except Exception as error:
            if isinstance(error, _Ended):
                raise UserError(str(error)) from None
            leave_at_once()
            if is_loss(error):
                raise UserError(_line(channel.heard("end", 2 * WAIT))) from None
            tell(reason(error))
            raise


class _Ended(Exception):
    """The leader has ended with an error."""


def _obey(channel: Channel, config_of: Callable[[Data], TrainConfig], stop: Stop) -> None:
    """Do what is announced, until the end."""
    trainer: Trainer
    asked = False

    def waiting() -> None:
        nonlocal asked
        if stop.is_set() and not asked:
            asked = True
            channel.report("stop")

    while True:
        what = channel.next(waiting)
        do = what["do"]
        if do == "trainer":
            trainer = make_trainer(config_of(what["config"]), trained_on=EnvSpec.from_dict(what["spec"]))
            channel.report("ready")
        elif do == "start":
            trainer.start(_states(what, trainer))
        elif do == "end":
            channel.report("bye")
            jax.distributed.shutdown()
            if what["code"] == INTERRUPTED:
                raise KeyboardInterrupt(KEPT)
            if what["code"]:
                raise _Ended(_line(what))
            return
        else:
            calls: dict[str, Callable[[], object]] = {"init_state": trainer.init_state, "advance": trainer.advance}
            calls |= {"state": trainer.state, "visits": trainer.visits}
            calls[do]()


def _states(what: Data, trainer: Trainer) -> Any:
    """The states that the leader sends."""
    empty = {name: np.zeros(shape, jnp.dtype(kind)) for name, (kind, shape) in what["arrays"].items()}
    return to_tree(broadcast(empty), from_data(what["leaves"]), trainer.state_shapes())


def _line(about: Data | None) -> str:
    """Why this process ends, from what the leader has announced."""
    return f"process 0 has ended: {about['why']}" if about else LOST


@contextmanager
def _waiting(channel: Channel, name: str, then: Callable[[Data], None]) -> Iterator[None]:
    """Wait in a thread for what another process says, after which the body has a while to end by itself."""
    done = threading.Event()

    def wait() -> None:
        with suppress(RuntimeError):  # of a store that is gone: JAX ends the process
            while not done.is_set():
                about = channel.heard(name, WAIT)
                if about is not None:
                    if not done.wait(0 if about.get("now") else PATIENCE):
                        then(about)
                    return

    threading.Thread(target=wait, daemon=True, name="hosts").start()
    try:
        yield
    finally:
        done.set()
