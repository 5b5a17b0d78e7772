"""The memory that runs of the tabular agent need at least, checked before anything is compiled or written."""

from action_balance.envs.grid.maps import corridor_world
from action_balance.machine import Need, available_memory, check_memory
from action_balance.studies.grid.settings import CORRIDOR_EPISODES, GridSettings, RunSettings
from action_balance.tabular.simulate import LANES

#: Bytes of a cell in the tables of a run: counts and advantages of four actions, the value, and whether it is a goal.
CELL = 4 * 4 + 4 * 4 + 4 + 1

#: Bytes of a step that a run learns from: cell, action and reached cell.
STEP = 3 * 4


def check_study(settings: GridSettings) -> None:
    """Raise a `UserError` if a part of the grid study cannot fit into memory."""
    cells = settings.size**2
    if "coverage" in settings.studies:
        check_runs(settings, cells, settings.coverage_steps, records=True)
    if "goals" in settings.studies:
        check_runs(settings, cells, goals=len(settings.goals))
    if "corridor" in settings.studies:
        check_runs(settings, corridor_world().cells, CORRIDOR_EPISODES * settings.episode_steps, goals=1)


def check_runs(settings: RunSettings, cells: int, steps: int = 0, records: bool = False, goals: int = 0) -> None:
    """Raise a `UserError` if walks of so many steps, or runs to so many goals, cannot fit into memory."""
    available, runs = available_memory(), settings.runs * len(settings.methods)
    tables = Need("the tables of its runs", LANES * cells * CELL, "a smaller world")
    if steps:
        updates = Need("its updates", LANES * min(settings.update_every, steps) * STEP, "a smaller --update-every")
        # Every step of some runs at a time, and every step and what it learned of the first.
        size = steps * (4 * min(LANES, settings.runs) + 8)
        walks = Need("its walks", size, "fewer --episodes or a smaller --episode-steps")
        results = Need("its results", 4 * runs * (steps // 10) if records else 0, "fewer --runs or --episodes")
        check_memory("this study", [tables, updates, walks, results], available)
    if goals:
        size = LANES * min(settings.update_every, settings.max_steps) * STEP
        updates = Need("its updates", size, "a smaller --update-every")
        check_memory("this study", [tables, updates, Need("its results", 9 * runs * goals, "fewer --runs")], available)
