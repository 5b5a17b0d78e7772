"""A trial as an actor of Ray Tune. Its run folder is all that it needs to continue, in whichever process.

Nothing here imports JAX before the environment variables of the process are set.
"""

import contextlib
import os
from typing import Any

from ray import tune

from action_balance.studies.sweep.plan import NUMBER, VALUES, TrialPlan


class SweepHome:
    """The actor next to the command, which tells trials that the sweep stops."""

    def __init__(self) -> None:
        """The sweep goes on."""
        self._stopping = False
        self._early: set[int] = set()

    def stop(self) -> None:
        """Let all trials save and end."""
        self._stopping = True

    def is_stopping(self) -> bool:
        """Whether trials save and end."""
        return self._stopping

    def stop_early(self, number: int) -> None:
        """A trial does not continue, because others are better."""
        self._early.add(number)

    def is_early(self, number: int) -> bool:
        """Whether a trial is stopped early."""
        return number in self._early


class TrialActor(tune.Trainable):
    """Trains one trial. A process that takes the place of a lost one continues its run."""

    def setup(self, config: dict[str, Any], plan: TrialPlan, home: Any) -> None:  # type: ignore[override]
        """Begin to train; Ray Tune passes the objects of ``with_parameters``."""
        os.environ.update(plan.variables)
        from action_balance.studies.sweep.training import TrialTraining

        self._home, self._number = home, config[NUMBER]
        self._training = TrialTraining(config[NUMBER], config[VALUES], plan, home)

    def step(self) -> dict[str, Any]:
        """Train until the next part is done, or until the training ends."""
        try:
            return self._training.next_report(self._is_stopping)
        except BaseException:  # also SIGTERM, which Ray turns into a SystemExit
            self._training.close()
            raise

    def cleanup(self) -> None:
        """Save the run, which is stopped early, or with the sweep."""
        import ray

        early = False
        with contextlib.suppress(Exception):  # of a command that is gone
            early = ray.get(self._home.is_early.remote(self._number))
        self._training.close(early)

    def _is_stopping(self) -> bool:
        import ray

        return bool(ray.get(self._home.is_stopping.remote()))
