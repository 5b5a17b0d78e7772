"""Real Ray on this machine: jobs that are killed, stopped or fail, with shared storage and with copies."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from counting_job import CountingJob
from rich.console import Console

from action_balance.cluster.board import Board
from action_balance.cluster.driver import Campaign
from action_balance.cluster.session import Resources, ray_session
from action_balance.cluster.worker import Storage
from action_balance.config.cluster import ClusterConfig

#: Addresses of the loopback interface as the system lists them: 127.0.0.1, also in IPv6, and ::1.
LOOPBACK = ("0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000")
LISTENS = "0A"


def listening() -> set[str]:
    """The addresses and ports that processes of this machine listen on."""
    lines = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    return {line[1] for line in lines if line[3] == LISTENS}


@pytest.fixture(scope="module")
def before() -> set[str]:
    return listening()


@pytest.fixture(scope="module")
def resources(before: set[str]) -> Iterator[Resources]:
    del before
    helpers = str(Path(__file__).parents[1] / "helpers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([helpers, os.environ.get("PYTHONPATH", "")]))
        with ray_session(ClusterConfig(on="ray")) as found:
            yield found


def train(
    resources: Resources, jobs: list[CountingJob], storage: Storage = "auto"
) -> tuple[dict[str, str], list[str], list[str]]:
    """Why jobs failed, which are finished, and what was said."""
    output, finished = io.StringIO(), list[str]()
    board = Board(Console(file=output, width=300), jobs)
    failed = Campaign(resources, board, lambda job: finished.append(job.name), 3, storage).train(jobs)
    return failed, finished, output.getvalue().splitlines()


@pytest.mark.parametrize("storage", ["auto", "copy"])
def test_jobs_continue_after_the_last_update_that_was_saved(
    tmp_path: Path, resources: Resources, storage: Storage
) -> None:
    troubles = ("", "killed", "asked to stop", "no space", "a bug")
    jobs = [CountingJob(trouble or "plain", tmp_path / (trouble or "plain"), trouble=trouble) for trouble in troubles]
    failed, finished, lines = train(resources, jobs, storage)
    assert failed == {"no space": "no space left", "a bug": "ZeroDivisionError: one"}
    assert sorted(finished) == ["asked to stop", "killed", "plain"]
    assert {job.name: job.saved(job.folder) for job in jobs} == {
        **{"plain": 6, "killed": 6, "asked to stop": 6},
        **{"no space": 3, "a bug": 3},
    }
    starts = {job.name: (job.folder / "starts").read_text().split() for job in jobs}
    assert (starts["plain"], starts["killed"], starts["asked to stop"]) == (["0"], ["0", "3"], ["0", "3"])
    where = "in a copy" if storage == "copy" else "in its folder"
    assert f"plain: {where}" in lines
    assert "asked to stop: stopped by its machine; it continues after update 3" in lines
    assert any(line.startswith("killed: its process was lost on") for line in lines)
    together = [int(path.read_text()) for path in tmp_path.glob("*/together")]
    assert all(number <= resources.slots for number in together)
    assert not list(tmp_path.glob(".*"))  # nothing is left of transfers


def test_no_port_is_opened_beyond_the_loopback_interface(before: set[str], resources: Resources) -> None:
    del resources
    opened = {address.partition(":")[0] for address in listening() - before}
    assert opened
    assert opened <= {*LOOPBACK}
