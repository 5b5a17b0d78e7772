"""``recording.npz``: one run of each method, every step of it, for the page. `docs/view.md` states the format."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from action_balance.envs.grid.maps import draw_map
from action_balance.envs.grid.world import GridWorld
from action_balance.errors import UserError
from action_balance.files import own_file
from action_balance.runs.results import ResultFolder
from action_balance.tabular.settings import METHODS
from action_balance.tabular.simulate import Trace

RECORDING = "recording.npz"
HEATMAPS = "heatmaps.npz"

#: Of a longer run, only so many steps are kept.
MOST_STEPS = 50_000


@dataclass(frozen=True)
class RolloutBuffer:
    """What the file holds of one world."""

    map: str  # its first line is the top; see `action_balance.envs.grid.maps`
    reachable: int  # cells that can be covered
    traces: dict[str, Trace]  # by method


def write(folder: ResultFolder, name: str, world: GridWorld, runs: Mapping[str, Trace | None]) -> None:
    """Add what was done in a world to the file.

    Args:
        folder: of the result.
        name: of the world; the arrays begin with it.
        world: with the goals that are to be marked.
        runs: one of each method.
    """
    pairs_fit = np.uint16 if 4 * world.cells <= 2**16 else np.uint32
    arrays = {
        f"{name}_map": np.array(draw_map(world)),
        f"{name}_reachable": np.array(world.reachable_cells()),
    }
    for method, trace in runs.items():
        if trace is not None:
            arrays[f"{name}_{method}_pairs"] = trace.pairs[:MOST_STEPS].astype(pairs_fit)
            arrays[f"{name}_{method}_advantage"] = trace.advantage[:MOST_STEPS]
    folder.add_arrays(RECORDING, arrays)


def read(path: Path) -> dict[str, RolloutBuffer]:
    """The recordings of a result by name of the world; none where an older version made it."""
    arrays = read_arrays(own_file(path, RECORDING))
    found = {}
    for key in arrays:
        name, _, what = key.rpartition("_")
        if what == "map":
            try:
                found[name] = RolloutBuffer(
                    str(arrays[key]), int(arrays[f"{name}_reachable"]), _traces(arrays, f"{name}_")
                )
            except (KeyError, TypeError, ValueError):
                raise UserError(f"{path / RECORDING} is damaged: make the result anew with --overwrite") from None
    return found


def _traces(arrays: Mapping[str, np.ndarray], prefix: str) -> dict[str, Trace]:
    there = [method for method in METHODS if f"{prefix}{method}_pairs" in arrays]
    return {method: Trace(arrays[f"{prefix}{method}_pairs"], arrays[f"{prefix}{method}_advantage"]) for method in there}


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` file; none where there is no such file."""
    if not path.exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as found:
            return dict(found)
    except (OSError, ValueError, EOFError, BadZipFile):
        raise UserError(f"{path} is damaged: make the result anew with --overwrite") from None
