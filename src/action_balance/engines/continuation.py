"""How a run continues: with its own settings, on other devices, or with more steps than it was planned with."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from action_balance.arguments import as_whole
from action_balance.config.train import TrainConfig
from action_balance.engines.device.devices import for_resume
from action_balance.errors import UserError
from action_balance.exploration.schedules import scheduled
from action_balance.files import Data
from action_balance.runs import RunFolder
from action_balance.runs.folder import ENDED_EARLY


@dataclass(frozen=True)
class Extension:
    """A longer plan for a run, which is written once the run was restored."""

    lines: Sequence[str]  # what the user should read
    data: Data  # the settings as the folder is to have them
    before: Data  # what they were, and where the run was, for the manifest


@dataclass(frozen=True)
class Continuation:
    """The rest of a run."""

    folder: RunFolder
    config: TrainConfig
    notes: Sequence[str] = ()  # what may change its numbers, for the manifest
    extension: Extension | None = None

    @property
    def is_finished(self) -> bool:
        self.folder.check_unchanged()
        return self.extension is None and self.folder.manifest.get("status") == "finished"


def continuation(
    folder: RunFolder, config: TrainConfig, steps: int | None = None, devices: int | Literal["all"] | None = None
) -> Continuation:
    """Plan the rest of a run; nothing is written yet."""
    config, notes = for_resume(config, devices)
    if steps is None:
        return Continuation(folder, config, notes)
    longer, extension = _extended(folder, config, steps)
    return Continuation(folder, longer, notes, extension)


def _extended(folder: RunFolder, config: TrainConfig, steps: int) -> tuple[TrainConfig, Extension]:
    """Plan more steps.

    Schedules that depend on the length follow the new plan from here on, as if the run had begun with it: otherwise a
    rate that has decayed to 0 would stay there.
    """
    agent, each = config.agent, config.agent.steps_per_update
    done = max(folder.checkpoints().updates(), default=0)
    if as_whole("--steps", steps) // each <= agent.warmup_rollouts + done:
        raise UserError(
            f"{folder.path} has {agent.steps_at(done):,} steps already: use --steps {agent.steps_at(done + 1)} or "
            f"more, or train a shorter run with another --out"
        )
    planned, data = replace(agent, steps=steps), copy.deepcopy(folder.config)
    data["agent"]["steps"] = steps
    if done and planned.warmup_rollouts != agent.warmup_rollouts:  # the warm-up is over, and was that of the first plan
        data["agent"]["exploration"]["warmup_rollouts"] = agent.warmup_rollouts
        exploration = replace(agent.exploration, warmup_rollouts=agent.warmup_rollouts)
        planned = replace(planned, exploration=exploration)
    longer = replace(config, agent=planned)
    updates = f"planned updates: {longer.agent.updates:,} (were {config.agent.updates:,}); {done:,} are done"
    lines = [f"{folder.path}: {updates}"]
    before, after = scheduled(config.agent, done), scheduled(longer.agent, done)
    for flag, old in before.items():
        lines.append(f"{flag}: the schedule now follows the new length: {after[flag]:.3g} (was {old:.3g})")
    if folder.manifest.get(ENDED_EARLY) and config.stop_when:
        longer, data["stop_when"] = replace(longer, stop_when=()), []
        lines.append(f"--stop-when {' '.join(config.stop_when)} has already stopped this run and is now ignored")
    return longer, Extension(lines, data, {"steps": config.agent.steps, "update": done})
