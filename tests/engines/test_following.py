"""Two processes that train one agent: what the second does, how both end, and that the result is that of one."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from command import call
from shared_store import SharedStore

from action_balance.config.registry import env_config
from action_balance.config.train import TrainConfig
from action_balance.distributed import Channel
from action_balance.engines import following
from action_balance.engines.following import same_settings
from action_balance.errors import UserError
from action_balance.runs.rows import METRICS
from action_balance.tasks import Stop

Process: TypeAlias = "subprocess.Popen[str]"

#: Eight updates of a small agent; the checkpoint of the fourth is the last before the fifth is killed.
SMALL = ("--size=4", "--envs=4", "--method=ppo", "--hidden=4", "--rollout-steps=4", "--minibatches=1", "--epochs=1")
AGENT = ("train", "deep-sea", *SMALL, "--steps=128", "--checkpoint-every=2")

#: The command line in a process that dies when it is about to write the time of its fifth update; that file is also
#: opened before each checkpoint.
DIES = """
import sys
from pathlib import Path
from killed_run import die_before
die_before("open timing.jsonl", 7, Path(next(word[6:] for word in sys.argv if word.startswith("--out="))))
from action_balance.__main__ import main
main()
"""


def obey(*announced: tuple[str, dict[str, object]]) -> SharedStore:
    """A follower does what was announced; what it says in turn."""
    store = SharedStore()
    leader = Channel(store, 0, 2)
    for do, about in announced:
        leader.announce(do, **about)
    stop = Stop()
    stop.set()
    following._obey(Channel(store, 1, 2), lambda _: TrainConfig(env_config("deep-sea")), stop)
    return store


@pytest.fixture
def _stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jax.distributed.shutdown", lambda: None)


@pytest.mark.usefixtures("_stays")
def test_a_follower_reports_a_stop_and_ends_when_the_leader_does() -> None:
    assert [*obey(("end", {"code": 0, "why": ""})).texts][1:] == ["action-balance/stop/1", "action-balance/bye/1"]
    with pytest.raises(KeyboardInterrupt, match="process 0 keeps the run"):
        obey(("end", {"code": 130, "why": "interrupted"}))
    with pytest.raises(following._Ended, match="process 0 has ended: the disk is full"):
        obey(("end", {"code": 2, "why": "the disk is full"}))


def test_other_settings_than_those_of_the_leader_are_one_line() -> None:
    config = TrainConfig(env_config("deep-sea"), stop_when=("return>=1",))
    assert same_settings(config, config.to_dict()) == config
    with pytest.raises(UserError, match="seed is 0 here, but 1 in process 0: use the same command"):
        same_settings(config, replace(config, seed=1).to_dict())


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("", 0))
        return int(trial.getsockname()[1])


@contextmanager
def two_processes(
    arguments: list[list[str]], variables: list[dict[str, str]]
) -> "Iterator[list[subprocess.Popen[str]]]":
    """Processes with one device each, which do not outlive the body."""
    path = os.pathsep.join([str(Path(__file__).parents[1] / "helpers"), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": path, "JAX_NUM_CPU_DEVICES": "1"}
    with ExitStack() as stack:
        processes = []
        for words, more in zip(arguments, variables, strict=True):
            options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
            one = subprocess.Popen([sys.executable, *words], env={**environment, **more}, **options)
            processes.append(stack.enter_context(one))
            stack.callback(one.kill)
        yield processes


def slurm(process: int, port: int) -> dict[str, str]:
    """Variables of a job of two tasks on this host."""
    places = {"SLURM_PROCID": str(process), "SLURM_LOCALID": str(process), "SLURM_NTASKS": "2"}
    return {**places, "SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "localhost", "JAX_COORDINATOR_PORT": str(port)}


def test_two_processes_that_are_killed_and_resumed_train_the_agent_of_one_process(tmp_path: Path) -> None:
    run, alone, port = tmp_path / "run", tmp_path / "alone", free_port()
    train = ["-c", DIES, *AGENT, f"--out={run}", f"--coordinator=127.0.0.1:{port}", "--processes=2"]
    with two_processes([[*train, f"--process-id={n}"] for n in range(2)], [{}, {}]) as processes:
        assert processes[0].wait() == -signal.SIGKILL
    assert (run / METRICS).read_bytes().count(b"\n") == 5  # more than the checkpoint has

    # The process that follows needs no folder: it gets everything from the other.
    resume, port = ["-m", "action_balance", "resume", "--distributed"], free_port()
    places = [str(run), str(tmp_path / "nowhere")]
    with two_processes([[*resume, place] for place in places], [slurm(n, port) for n in range(2)]) as processes:
        said = [one.communicate() for one in processes]
        assert [one.returncode for one in processes] == [0, 0], said
    assert said[1] == ("", "")  # only the leader prints

    assert call(*AGENT, f"--out={alone}", "--devices=2") == 0
    assert (run / METRICS).read_bytes() == (alone / METRICS).read_bytes()
    assert (run / METRICS).read_bytes().count(b"\n") == 8
