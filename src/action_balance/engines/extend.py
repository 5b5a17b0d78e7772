"""More steps for a run than it was planned with, also when it is finished."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

from action_balance.agent.schedules import coef_at, learning_rate_at
from action_balance.arguments import as_whole
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.files import Data
from action_balance.runs import RunFolder
from action_balance.runs.folder import ENDED_EARLY


@dataclass(frozen=True)
class Extension:
    """A longer plan for a run, which is written once the run was restored."""

    config: TrainConfig
    """The settings with more steps."""
    lines: Sequence[str]
    """What the user should read."""
    data: Data
    """The settings as the folder is to have them."""
    before: Data
    """What they were, and where the run was, for the manifest."""

    def write(self, folder: RunFolder) -> None:
        """Change the settings of a run on the disk."""
        folder.change_config(self.data, self.before)


def extend(folder: RunFolder, config: TrainConfig, steps: int) -> Extension:
    """Plan more steps for a run; nothing is written yet.

    Schedules that depend on the length follow the new plan from here on, as if the run had begun with it: otherwise a
    rate that has decayed to 0 would stay there.
    """
    each = config.agent.steps_per_update
    done = max(folder.checkpoints().updates(), default=0)
    if as_whole("--steps", steps) // each <= done:
        raise UserError(
            f"{folder.path} has {done * each:,} steps already: use --steps {(done + 1) * each} or more, or train a "
            f"shorter run with another --out"
        )
    longer = replace(config, agent=replace(config.agent, steps=steps))
    lines = [
        f"{folder.path}: planned updates: {longer.agent.updates:,} (were {config.agent.updates:,}); {done:,} are done"
    ]
    lines += _schedules(config, longer, done)
    data = copy.deepcopy(folder.config)
    data["agent"]["steps"] = steps
    if folder.manifest.get(ENDED_EARLY) and config.stop_when:
        longer, data["stop_when"] = replace(longer, stop_when=()), []
        lines.append(f"--stop-when {' '.join(config.stop_when)} has already stopped this run and is now ignored")
    return Extension(longer, lines, data, {"steps": config.agent.steps, "update": done})


def _schedules(before: TrainConfig, after: TrainConfig, done: int) -> list[str]:
    """A line for each schedule that depends on the length."""
    lines = []
    for flag, at in (("--action-coef-end", coef_at), ("--learning-rate-end", learning_rate_at)):
        old, new = at(before.agent, done), at(after.agent, done)
        if old is not None and new is not None:
            lines.append(f"{flag}: the schedule now follows the new length: {new:.3g} (was {old:.3g})")
    return lines
