"""Folders that version 0.1.0 has written: checkpoints in Orbax's format, results that do not list their files."""

import contextlib
import logging
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from action_balance.errors import UserError
from action_balance.files import Data, reason
from action_balance.runs.array_file import DamagedArrays
from action_balance.runs.leaves import NO_DATA, Leaf

#: The folder of a checkpoint in which Orbax has written the arrays.
ORBAX = "arrays"

#: Where the leaves of a training state of 0.1.0 are now. Each pattern that matches the beginning of a path is replaced,
#: one after the other.
MOVED = (
    (r"\.learned\.policy", ".params.policy"),
    (r"\.learned\.next_state", ".params.bonuses['intrinsic']"),
    (r"\.learned\.action", ".params.bonuses['action']"),
    (r"\.targets\.next_state", ".bonus_states['intrinsic']"),
    (r"\.targets\.action", ".bonus_states['action']"),
    (r"(\.optimizer\[0\]\.[mn]u)\.next_state", r"\1.bonuses['intrinsic']"),
    (r"(\.optimizer\[0\]\.[mn]u)\.action", r"\1.bonuses['action']"),
    (r"\.observations\b", ".obs_stats"),
    (r"\.returns\b", ".return_scale"),
    (r"\.environment\b", ".env_state"),
    (r"\.reached$", ".state_visits"),
)
#: Leaves that 0.1.0 did not have, and where their numbers are: the counts of states are a bonus of their own now.
COPIED = {".bonus_states['intrinsic']": ".state_visits"}

#: Files of results besides ``summary.json``.
_WORLDS = ("open", "corridor", "deep-sea")
RESULT_FILES = (
    *("goals.csv", "coverage.csv", "coverage_final.csv", "corridor.csv", "reach.csv", "counting.csv"),
    *(f"{world}_{table}.csv" for world in _WORLDS for table in ("states", "agents")),
    *("heatmaps.npz", "recording.npz", "report.html"),
    *("final_returns.csv", "learning_curves.csv", "entropy.csv", "entropy_curves.csv", "runs.csv"),
    *(
        f"figures/{name}.{kind}"
        for name in (
            *("coverage_rate", "relative_increase", "heatmaps", "final_cells", "goal_boxes", "corridor_visits"),
            *("treasure_steps", "first_reach", "open_coverage", "open_visits", "counting"),
            *(f"{world}_{name}" for world in _WORLDS[1:] for name in ("found", "returns", "visits")),
            *("learning_curves", "entropy"),
        )
        for kind in ("png", "svg")
    ),
)

#: Files of an evaluation besides its summary.
EVALUATION_FILES = ("episodes.csv", "heatmap.png", "episode.gif", "episode.mp4")


#: Names in summaries and tables, by the names that 0.1.0 gave them.
RENAMED = {"way": "mode", "ways": "modes", "asked": "requested"}


def renamed(data: Data) -> Data:
    """Data of a summary or the row of a table, with the names of 0.1.0 replaced."""
    return {RENAMED.get(name, name): value for name, value in data.items()}


def moved(path: str) -> str:
    """Where the leaf of a 0.1.0 training state is now."""
    for pattern, new in MOVED:
        path = re.sub(f"^(?:{pattern})", new, path)
    return path


def read_checkpoint(
    folder: Path, table: Sequence[Leaf], expected: Collection[str]
) -> tuple[list[Leaf], dict[str, np.ndarray]]:
    """The arrays of a 0.1.0 checkpoint under the paths that they have now."""
    leaves = {moved(leaf.path): replace(leaf, path=moved(leaf.path)) for leaf in table}
    stored = [path for path, leaf in leaves.items() if leaf.dtype != NO_DATA and 0 not in leaf.shape]
    arrays = dict(zip(stored, _read_orbax(folder / ORBAX, len(stored)), strict=True))
    for path, leaf in leaves.items():
        if 0 in leaf.shape:  # Orbax takes no empty arrays
            arrays[path] = np.zeros(leaf.shape, leaf.dtype)
    for path, source in COPIED.items():
        if source in leaves:
            leaves[path], arrays[path] = replace(leaves[source], path=path), arrays[source]
    kept = {path: leaf for path, leaf in leaves.items() if path in expected}
    return list(kept.values()), {path: array for path, array in arrays.items() if path in kept}


def _read_orbax(path: Path, count: int) -> list[np.ndarray]:
    if not count:
        return []
    try:
        import orbax.checkpoint as orbax
    except ImportError:
        raise UserError(
            f"{path.parent} was written by version 0.1.0 with orbax-checkpoint, which is not installed: "
            f"pip install orbax-checkpoint"
        ) from None
    as_numpy = [orbax.RestoreArgs(restore_type=np.ndarray) for _ in range(count)]
    request = orbax.args.PyTreeRestore(item=[0] * count, restore_args=as_numpy)
    try:
        with _quiet(), orbax.Checkpointer(orbax.PyTreeCheckpointHandler()) as checkpointer:
            return [np.asarray(array) for array in checkpointer.restore(path, args=request)]
    except Exception as error:
        raise DamagedArrays(f"Orbax cannot read it: {reason(error)}") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without Orbax's log lines."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
