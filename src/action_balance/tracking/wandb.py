"""Weights & Biases: credentials, mode, entity and server come from its own environment variables and files."""

import os
import secrets
from collections.abc import Mapping
from typing import Any

from action_balance.tracking.base import PROJECT, EndStatus, RunInfo

#: Longest tag.
MAX_CHARACTERS = 64

#: Seconds to wait for the server when a run starts, and at the end.
START, END = 30.0, 50.0


class WandbTracker:
    """One run of Weights & Biases.

    Its own step must never decrease, or rows are dropped. It is therefore left alone, and counts the rows; the
    horizontal axis is the metric ``steps``. Updates that come again after a resume are second rows with the same
    ``steps`` and the same numbers, so that no curve changes.
    """

    def start(self, run: RunInfo, resumed: str | None) -> str:
        """Begin a tracked run, or continue the one with an id."""
        import wandb

        quiet = wandb.Settings(silent=True)  # no questions to the user, and no lines among those of the progress
        wandb.setup(quiet)
        timeouts: dict[str, Any] = {"init_timeout": START, "finish_timeout": END}
        more = {name: value for name, value in timeouts.items() if name in wandb.Settings.model_fields}  # of a version
        self._run = wandb.init(
            project=run.project or os.environ.get("WANDB_PROJECT") or PROJECT,
            id=resumed or secrets.token_hex(4),
            resume="allow",
            reinit="create_new",  # a run that the user's code has opened is left alone
            name=run.name,
            tags=[tag[:MAX_CHARACTERS] for tag in (run.method, run.environment)],
            settings=wandb.Settings(silent=True, console="off", disable_git=True, save_code=False, **more),
        )
        self._run.config.update(run.config, allow_val_change=True)  # a run that is extended has other settings
        self._run.define_metric("steps")
        self._run.define_metric("*", step_metric="steps")
        return str(self._run.id)

    def log(self, update: int, steps: int, metrics: Mapping[str, float]) -> None:
        self._run.log({"update": update, "steps": steps, **metrics})

    def finish(self, status: EndStatus, summary: Mapping[str, float]) -> None:
        self._run.summary.update({"status": status, **summary})
        self._run.finish(exit_code=0 if status == "finished" else 1)
