"""``recording.npz``: every step of one run of each method, for the page. `docs/view.md` documents the format."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from action_balance.envs.grid.maps import draw_map
from action_balance.envs.grid.world import GridWorld
from action_balance.errors import UserError
from action_balance.files import own_file
from action_balance.reading import Missing
from action_balance.runs import array_file
from action_balance.runs.results import ResultFolder
from action_balance.studies.grid.film import Walks
from action_balance.tabular.settings import METHODS
from action_balance.tabular.simulate import Trace

RECORDING = "recording.npz"
HEATMAPS = "heatmaps.npz"

#: The most steps that are kept of a run.
MAX_STEPS = 50_000


@dataclass(frozen=True)
class Recording:
    """The recording of one world."""

    map: str  # the first line is the top; see `action_balance.envs.grid.maps`
    reachable: int  # number of cells that can be covered
    traces: dict[str, Trace]  # by method


def write(folder: ResultFolder, name: str, world: GridWorld, walks: Mapping[str, Walks]) -> None:
    """Add the first run of each method in a world to the file."""
    pairs_fit = np.uint16 if 4 * world.cells <= 2**16 else np.uint32
    arrays = {f"{name}_map": np.array(draw_map(world)), f"{name}_reachable": np.array(world.reachable_cells())}
    for method, one in walks.items():
        if (trace := one.first) is not None:
            arrays[f"{name}_{method}_pairs"] = trace.pairs[:MAX_STEPS].astype(pairs_fit)
            arrays[f"{name}_{method}_advantage"] = trace.advantage[:MAX_STEPS]
    folder.add_arrays(RECORDING, arrays)


def read(path: Path) -> dict[str, Recording]:
    """The recordings of a result by name of the world; empty for a result without the file."""
    arrays = read_arrays(own_file(path, RECORDING))
    found = {}
    for key in arrays:
        name, _, what = key.rpartition("_")
        if what == "map":
            try:
                traces = {
                    method: Trace(arrays[f"{name}_{method}_pairs"], arrays[f"{name}_{method}_advantage"])
                    for method in METHODS
                    if f"{name}_{method}_pairs" in arrays
                }
                found[name] = Recording(str(arrays[key]), int(arrays[f"{name}_reachable"]), traces)
            except (KeyError, TypeError, ValueError):
                raise UserError(f"{path / RECORDING} is damaged: reproduce the result with --overwrite") from None
    return found


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` file; empty without the file."""
    try:
        return array_file.read_arrays(path)
    except Missing:
        return {}
    except array_file.DamagedArrays:
        raise UserError(f"{path} is damaged: reproduce the result with --overwrite") from None
