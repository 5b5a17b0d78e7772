"""MLflow: the server and its credentials come from its own environment variables.

Without a server, the full package ``mlflow`` writes to a database in the current folder. ``mlflow-skinny``, which the
extra installs, has no databases: it writes to the folder ``mlruns``.
"""

import importlib.util
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from action_balance.files import Data
from action_balance.tracking.base import PROJECT, EndStatus, RunInfo

#: Most metrics, and most settings, in one request; longest setting.
MAX_METRICS, MAX_PARAMS, MAX_CHARACTERS = 1000, 100, 500

STATUS: dict[EndStatus, str] = {"finished": "FINISHED", "interrupted": "KILLED", "failed": "FAILED"}


class MlflowTracker:
    """One run of MLflow; the client is our own, so that a run which the user's code has opened is left alone.

    A metric has its place on the horizontal axis, ``steps``. Updates that come again after a resume are second points
    at the same place with the same number, so that no curve changes.
    """

    def start(self, run: RunInfo, resumed: str | None) -> str:
        """Begin a tracked run, or continue the one with an id; a new one where that is gone."""
        from mlflow import MlflowClient
        from mlflow.entities import Param

        self._client = MlflowClient(tracking_uri=_store())
        settings = dict(_settings(run.config))
        known = self._continued(resumed)
        if known is None:
            self._id = self._new(run)
            known = {}
        params = [Param(name, value) for name, value in settings.items() if name not in known]
        for first in range(0, len(params), MAX_PARAMS):
            self._client.log_batch(self._id, params=params[first : first + MAX_PARAMS])
        for name, value in settings.items():
            if known.get(name, value) != value:  # a run that was extended; a parameter cannot change
                self._client.set_tag(self._id, name, value)
        return self._id

    def log(self, update: int, steps: int, metrics: Mapping[str, float]) -> None:
        from mlflow.entities import Metric

        now = int(time.time() * 1000)
        points = [Metric(name, value, now, steps) for name, value in {"update": update, **metrics}.items()]
        for first in range(0, len(points), MAX_METRICS):
            self._client.log_batch(self._id, metrics=points[first : first + MAX_METRICS])

    def finish(self, status: EndStatus, summary: Mapping[str, float]) -> None:
        for name, value in {"status": status, **summary}.items():
            self._client.set_tag(self._id, name, value)
        self._client.set_terminated(self._id, STATUS[status])

    def _new(self, run: RunInfo) -> str:
        name = run.project or os.environ.get("MLFLOW_EXPERIMENT_NAME") or PROJECT
        found = self._client.get_experiment_by_name(name)
        experiment = found.experiment_id if found else self._client.create_experiment(name)
        tags = {"method": run.method, "environment": run.environment}
        return str(self._client.create_run(experiment, run_name=run.name, tags=tags).info.run_id)

    def _continued(self, resumed: str | None) -> dict[str, str] | None:
        """The settings that the earlier part of a run has logged; None if there is none."""
        from mlflow.exceptions import MlflowException

        if resumed is None:
            return None
        try:
            earlier = self._client.get_run(resumed)
            self._client.update_run(resumed, status="RUNNING")
        except MlflowException:  # deleted, or in another store
            return None
        self._id = resumed
        return dict(earlier.data.params)


def _store() -> str | None:
    """A folder where there is neither a server nor a database; None for what MLflow chooses itself."""
    if os.environ.get("MLFLOW_TRACKING_URI") or importlib.util.find_spec("sqlalchemy"):
        return None
    os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # newer versions ask for this permission
    return Path("mlruns").absolute().as_uri()


def _settings(config: Data, path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in config.items():
        where = f"{path}.{name}" if path else name
        if isinstance(value, dict) and value:
            yield from _settings(value, where)
        else:
            yield where, str(value)[:MAX_CHARACTERS]
