"""The contract between the training loop and the engines. Axis: S seeds, trained together."""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int

from action_balance.algorithms.state import TrainState
from action_balance.engines.metrics_rows import HostMetrics
from action_balance.envs.spec import EnvSpec


def never() -> bool:
    return False


@runtime_checkable
class Trainer(Protocol):
    """Trains the agents of a run, update by update. All states have the leading axis S."""

    @property
    def spec(self) -> EnvSpec:
        """Observations and actions that the agents are built for."""
        ...

    @property
    def resume_note(self) -> str:
        """What the user should know whenever a run is resumed; empty if it continues as if it had not stopped."""
        ...

    def state_shapes(self) -> TrainState:
        """The shapes of `init_state`, into which a checkpoint is restored; nothing is computed."""
        ...

    def init_state(self, stopped: Callable[[], bool] = never) -> TrainState:
        """Fresh agents, with the observation statistics of a random agent."""
        ...

    def start(self, states: TrainState) -> None:
        """Continue from given states."""
        ...

    def advance(self) -> HostMetrics:
        """Make one update of every seed."""
        ...

    def state(self) -> TrainState:
        """The agents after the last update."""
        ...

    def visits(self) -> Int[np.ndarray, "states choices"] | None:
        """How often actions have been taken."""
        ...

    def close(self) -> None:
        """Stop environments and threads."""
        ...
