"""``train --on ray``: the seeds of a training as separate runs, each in a folder of its own."""

import shlex
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from action_balance import signals
from action_balance.cluster import session
from action_balance.cluster.driver import raise_failures, train_jobs
from action_balance.config.cluster import ClusterConfig
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.runs import RunFolder
from action_balance.studies.run_job import RunJob, is_finished, same_command
from action_balance.terminal.console import say
from action_balance.terminal.summary import final_return
from action_balance.terminal.training import command_line
from action_balance.tracking import TrackConfig, check_installed


def seed_jobs(config: TrainConfig, out: Path, track: TrackConfig) -> list[RunJob]:
    if not out.absolute().name:
        raise UserError(f"--out {out} has no name that a seed could be appended to: choose another folder")
    jobs, out = list[RunJob](), out.absolute()
    for seed in range(config.seed, config.seed + config.seeds):
        folder = out if config.seeds == 1 else out.with_name(f"{out.name}-{seed}")
        one = replace(config, seed=seed, seeds=1)
        jobs.append(RunJob(folder.name, folder, one, tuple(command_line()), trust=True, track=track))
    return jobs


def train_seeds(
    config: TrainConfig, out: Path, overwrite: bool, track: TrackConfig, cluster: ClusterConfig, console: Console
) -> None:
    (session.check_cluster(cluster) if overwrite else session.check_installed())  # before anything is deleted
    check_installed(track.names)
    jobs = seed_jobs(config, out, track)
    if overwrite:
        for job in jobs:
            RunFolder.delete(job.folder)
    missing = [job for job in jobs if not is_finished(job.folder, job.config)]
    for job in missing:
        if RunFolder.holds_run(job.folder):
            RunFolder.open(job.folder).check_resumable()
    if len(missing) < len(jobs):
        say(console, f"{len(jobs) - len(missing)} of {len(jobs)} runs are finished already")
    kept = f"the runs are kept in {out.parent}; {same_command(overwrite)} continues from there"
    if missing:
        with signals.kept(lambda: kept):
            failed = train_jobs(missing, cluster, console, out.parent, lambda _: None, len(jobs) - len(missing))
        raise_failures(failed)
    for job in jobs:
        say(console, f"{job.name}: {final_return(job.folder)}")
    folders = " ".join(shlex.quote(str(out.parent / job.folder.name)) for job in jobs)
    say(console, "next:", f"  action-balance compare {folders}", f"  action-balance view {folders}")
