"""The state of a run's agents, from one of its checkpoints."""

from collections.abc import Callable
from typing import Literal

from action_balance.agent.state import TrainState
from action_balance.config.train import TrainConfig
from action_balance.errors import UserError
from action_balance.runs import Restored, RunFolder
from action_balance.runs.folder import CHECKPOINTS


def restore(folder: RunFolder, config: TrainConfig, checkpoint: str, shapes: Callable[[], TrainState]) -> Restored:
    """Read a checkpoint of a run."""
    if folder.is_copy:
        raise UserError(f"{folder.path} is a copy without {CHECKPOINTS}/ and cannot be evaluated: copy the whole run")
    checkpoints = folder.checkpoints()
    there = checkpoints.updates()
    if not there:
        raise UserError(
            f"{folder.path} has no checkpoint yet: the first is written after {config.first_checkpoint}, "
            f"or when training is interrupted"
        )
    choice: dict[str, Literal["latest", "best"] | int] = {"latest": "latest", "best": "best"}
    choice |= {str(update): update for update in there}
    if checkpoint not in choice:
        raise UserError(f"{folder.path} has no checkpoint {checkpoint}: choose from {', '.join(choice)}")
    return checkpoints.restore(shapes(), choice[checkpoint])
