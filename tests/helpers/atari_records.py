"""Records of Atari runs with chosen numbers."""

from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from action_balance.studies.atari.records import AtariRecord
from action_balance.studies.atari.training import AtariTraining, run_name

SMALL = AtariTraining(steps=5 * 512, envs=4, warmup_rollouts=1, channels=4)


def record(
    method: str,
    seed: int,
    returns: list[float],
    status: str = "finished",
    game: str = "gravitar",
    training: AtariTraining = SMALL,
    **changed: np.ndarray,
) -> AtariRecord:
    """A run that ended 100 episodes in each update, so that the returns are their own moving means."""
    values, empty = np.array(returns), np.full(len(returns), nan)
    arrays: dict[str, Any] = {
        "steps": 512.0 * np.arange(1, len(returns) + 1),
        "episodes": np.full(len(returns), 100.0),
        **{"returns": values, "best": values, "entropy_added": empty, "entropy_bonus": empty},
        "seconds": 2.0,
    }
    config = training.run(game, method, seed)
    return AtariRecord(Path(run_name(config)), config, status, {}, {}, **arrays | changed)
