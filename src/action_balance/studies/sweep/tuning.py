"""The search as an experiment of Ray Tune, with ASHA.

Ray Tune keeps its own state in a temporary folder, which is deleted: a sweep continues from its ledger and its run
folders, and nothing that was pickled is read back.
"""

import json
import logging
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray import tune
from ray.tune.schedulers import FIFOScheduler
from ray.tune.search import Searcher
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from action_balance.cluster.session import Resources
from action_balance.config.cluster import ClusterConfig
from action_balance.studies.sweep.folder import TRIALS
from action_balance.studies.sweep.halving import Halving
from action_balance.studies.sweep.ledger import Ledger
from action_balance.studies.sweep.plan import NUMBER, SCORE, VALUES, TrialPlan
from action_balance.studies.sweep.search import Search
from action_balance.studies.sweep.settings import SweepSettings
from action_balance.studies.sweep.trial import SweepHome, TrialActor
from action_balance.terminal.training import command_line

#: Environment variables of Ray Tune: no files of its own, no output, no handler of Ctrl-C.
VARIABLES = {
    "RAY_AIR_NEW_OUTPUT": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "TUNE_DISABLE_SIGINT_HANDLER": "1",
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",
    "TUNE_GLOBAL_CHECKPOINT_S": "1e9",
    "TUNE_PRINT_ALL_TRIAL_ERRORS": "0",
    "TUNE_WARN_THRESHOLD_S": "60",
}

#: What Ray Tune logs with.
LOGGERS = ("ray.tune", "ray.train", "ray.air")

#: Seconds that trials have to save and end when the sweep is interrupted.
GRACE = 60.0


class _Unsaved:
    """What Ray Tune saves with the state of an experiment, which nobody reads, is empty."""

    def __getstate__(self) -> dict[str, Any]:
        return {}


class Proposals(_Unsaved, Searcher):
    """Gives Ray Tune the trials of a search."""

    def __init__(self, search: Search, numbers: dict[str, int]) -> None:
        """Propose nothing yet."""
        super().__init__(metric=SCORE, mode="max")
        self._search, self._numbers = search, numbers

    def suggest(self, trial_id: str) -> Any:
        """The next trial."""
        trial = self._search.next_trial()
        if trial is None:
            return Searcher.FINISHED
        self._numbers[trial_id] = trial.number
        return {NUMBER: trial.number, VALUES: dict(trial.values)}

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """A trial has ended, and the next is chosen with what is known of it."""
        number = self._numbers[trial_id]
        if error:
            self._search.crashed(number, "its process crashed too often")
        else:
            self._search.ended(number, result or {})

    def save(self, checkpoint_path: str) -> None:
        """Nothing is kept in files of Ray Tune."""

    def restore(self, checkpoint_path: str) -> None:
        """Nothing is read from files of Ray Tune."""


class News(_Unsaved, tune.Callback):
    """Tells a search what happens to its trials."""

    def __init__(self, search: Search) -> None:
        """Watch a search."""
        self._search = search

    def on_trial_start(self, *_: Any, **info: Any) -> None:
        """A process trains a trial."""
        self._search.started(info["trial"].config[NUMBER])

    def on_trial_result(self, *_: Any, **info: Any) -> None:
        """A trial has done a part of its training."""
        self._search.reported(info["trial"].config[NUMBER], info["result"])

    def on_trial_recover(self, *_: Any, **info: Any) -> None:
        """A process was lost, and another takes its place."""
        self._search.lost(info["trial"].config[NUMBER])


class StopAll(_Unsaved, tune.Stopper):
    """Ends the experiment when the search stops, once all trials have saved."""

    def __init__(self, search: Search, home: Any) -> None:
        """Watch a search."""
        self._search, self._home = search, home
        self._since: float | None = None

    def __call__(self, *_: Any) -> bool:
        """No trial stops alone."""
        return False

    def stop_all(self) -> bool:
        """Whether there is nothing left to wait for."""
        if not self._search.is_stopping:
            return False
        self._since = self._since or time.monotonic()
        self._home.stop.remote()  # each time: the actor may have been started again
        return not self._search.running or time.monotonic() - self._since > GRACE


def tune_trials(
    settings: SweepSettings, search: Search, ledger: Ledger, out: Path, resources: Resources, cluster: ClusterConfig
) -> None:
    """Train all trials of a search."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1, "scheduling_strategy": here}
    home: Any = ray.remote(SweepHome).options(**options).remote()
    plan = TrialPlan(
        base=json.loads(json.dumps(settings.base.to_dict())),
        space=settings.space,
        metric=settings.search.metric,
        folder=(out / TRIALS).absolute(),
        command=tuple(command_line()),
        cwd=os.getcwd(),
        cpus=max(1, int(resources.cpus)),
        variables=resources.variables,
    )
    plan.folder.mkdir(parents=True, exist_ok=True)

    def stop_early(number: int) -> None:
        ray.get(home.stop_early.remote(number))

    trainable = tune.with_parameters(TrialActor, plan=plan, home=home)
    with _own_folder() as folder:
        tune.run(
            trainable,
            name="sweep",
            storage_path=folder,
            search_alg=Proposals(search, {}),
            scheduler=Halving(ledger.trials, stop_early) if settings.search.early_stopping else FIFOScheduler(),
            num_samples=-1,
            max_concurrent_trials=resources.slots,
            resources_per_trial={"cpu": resources.cpus, "gpu": resources.gpus},
            stop=StopAll(search, home),
            callbacks=[News(search)],
            max_failures=cluster.max_crashes - 1,
            raise_on_failed_trial=False,
            trial_dirname_creator=lambda trial: str(trial.trial_id),
            verbose=0,
        )


@contextmanager
def _own_folder() -> Iterator[str]:
    """A folder for what Ray Tune writes, which is deleted, and its settings; both for a while."""
    before = {name: os.environ.get(name) for name in VARIABLES}
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    os.environ.update(VARIABLES)
    for name in LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        with tempfile.TemporaryDirectory(prefix="action-balance-sweep-", ignore_cleanup_errors=True) as folder:
            yield folder
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
