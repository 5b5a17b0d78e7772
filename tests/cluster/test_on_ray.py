"""Real Ray on this machine: jobs that are killed, stopped or fail."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from counting_job import CountingJob
from rich.console import Console

from action_balance.cluster.board import Board
from action_balance.cluster.driver import Campaign
from action_balance.cluster.jobs import Job
from action_balance.cluster.session import Resources, ray_session
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


def test_jobs_continue_after_the_last_update_that_was_saved(tmp_path: Path, resources: Resources) -> None:
    output, finished = io.StringIO(), list[str]()

    def note(job: Job) -> None:
        finished.append(job.name)

    troubles = ("", "killed", "asked to stop", "no space", "a bug")
    jobs = [CountingJob(trouble or "plain", tmp_path / (trouble or "plain"), trouble=trouble) for trouble in troubles]
    board = Board(Console(file=output, width=300), len(jobs))
    failed = Campaign(resources, board, note, 3, tmp_path).train(job for job in jobs)
    lines = output.getvalue().splitlines()
    assert failed == {"no space": "no space left", "a bug": "ZeroDivisionError: one"}
    assert sorted(finished) == ["asked to stop", "killed", "plain"]
    saved = {job.name: job.saved() for job in jobs}
    assert saved == {"plain": 6, "killed": 6, "asked to stop": 6, "no space": 3, "a bug": 3}
    starts = {job.name: (job.folder / "starts").read_text().split() for job in jobs}
    assert (starts["plain"], starts["killed"], starts["asked to stop"]) == (["0"], ["0", "3"], ["0", "3"])
    assert "plain: counts" in lines
    assert "asked to stop: stopped by its machine; it continues after update 3" in lines
    assert any(line.startswith("killed: its process was lost") for line in lines)
    together = [int(path.read_text()) for path in tmp_path.glob("*/together")]
    assert all(number <= resources.slots for number in together)


def test_a_node_that_does_not_see_the_folder_trains_nothing_and_says_so(tmp_path: Path, resources: Resources) -> None:
    job, output = CountingJob("job", tmp_path / "job"), io.StringIO()
    board = Board(Console(file=output, width=300), 1)
    failed = Campaign(resources, board, lambda _: None, 1, tmp_path / "not there").train([job])
    assert f"does not see {tmp_path}: choose an --out on storage that all nodes share" in failed["job"]
    assert not job.folder.exists()


def test_no_port_is_opened_beyond_the_loopback_interface(before: set[str], resources: Resources) -> None:
    del resources
    opened = {address.partition(":")[0] for address in listening() - before}
    assert opened
    assert opened <= {*LOOPBACK}
