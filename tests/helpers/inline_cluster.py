"""A stand-in for a cluster: jobs are trained one after the other, in this process."""

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console

from action_balance.cluster.driver import OnFinished
from action_balance.cluster.jobs import Job
from action_balance.config.cluster import ClusterConfig
from action_balance.errors import UserError


class InlineCluster:
    """Has the arguments of its only call."""

    def __init__(self, failures: dict[str, str] | None = None) -> None:
        self.failures = failures or {}
        self.trained: list[str] = []
        self.jobs: list[Job] = []
        self.finished_before = 0
        self.said: list[str | None] = []

    def train_jobs(
        self,
        jobs: Iterable[Job],
        config: ClusterConfig,
        console: Console,
        folder: Path,
        on_finished: OnFinished,
        finished: int = 0,
        total: int | None = None,
    ) -> dict[str, str]:
        """In place of `action_balance.cluster.driver.train_jobs`."""
        del console, folder, total
        assert config.is_wanted
        self.finished_before, self.jobs = finished, []
        failed: dict[str, str] = {}
        for job in jobs:
            self.jobs.append(job)
            try:
                if job.name in self.failures:
                    raise UserError(self.failures[job.name])
                job.train(lambda _: None, lambda _: None)
            except UserError as error:
                failed[job.name] = str(error)
            else:
                self.trained.append(job.name)
                self.said.append(on_finished(job))
        return failed
