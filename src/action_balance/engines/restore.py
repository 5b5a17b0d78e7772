"""What a run folder knows of its agents: what they were built for, and their state in one of its checkpoints."""

from collections.abc import Callable
from typing import Any, Literal

from action_balance.algorithms.state import TrainState
from action_balance.config.train import TrainConfig
from action_balance.engines.device.devices import choose_devices
from action_balance.envs.spec import EnvSpec
from action_balance.errors import UserError
from action_balance.runs import Restored, RunFolder
from action_balance.runs.folder import CHECKPOINTS

#: Where the manifest of a run has the `EnvSpec` that its agents were built for.
ENV_SPEC = "env_spec"
#: Where it has the environment's own spaces, if they differ from what the `EnvSpec` describes.
SPACES = "spaces"
#: Where it has the number of devices that a run is split over, if the settings say one.
DEVICES = "devices"


def about(config: TrainConfig, spec: EnvSpec) -> dict[str, Any]:
    """What the manifest is to have of a run that is trained now."""
    found: dict[str, Any] = {ENV_SPEC: spec.to_dict()}
    if config.devices is not None:
        found[DEVICES] = len(choose_devices(config))
    if (spaces := config.env.spaces()) is not None:
        found[SPACES] = spaces
    return found


def trained_on(folder: RunFolder) -> EnvSpec | None:
    """What the agents of a run were built for; None if the run did not record it."""
    return EnvSpec.from_dict(folder.manifest.get(ENV_SPEC))


def restore(folder: RunFolder, config: TrainConfig, checkpoint: str, shapes: Callable[[], TrainState]) -> Restored:
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
