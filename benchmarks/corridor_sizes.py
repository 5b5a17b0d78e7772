"""How the corridor study depends on the size of the world, which the paper does not give.

Usage: ``python benchmarks/corridor_sizes.py [RUNS]``. For several sizes of rooms and corridors, and for larger
next-state bonuses, it prints the steps to the treasure and the one-sidedness of each method: means with 95 % confidence
intervals.
"""

import sys

from rich.console import Console
from rich.table import Table

from action_balance.envs.grid.maps import corridor_world
from action_balance.studies.grid import corridor
from action_balance.studies.grid.settings import GridSettings

#: Size of the room, length of the corridor, c_s. The first is that of the study.
VARIANTS = ((11, 9, 0.1), (9, 5, 0.1), (15, 9, 0.1), (15, 21, 0.1), (21, 11, 0.1), (15, 9, 1.0), (15, 9, 5.0))


def main() -> None:
    """Run all variants and print the table."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    table = Table(title=f"{runs} runs, at most 1,000,000 steps each")
    for name in ("room", "corridor", "c_s", "method", "steps to the treasure", "timed out", "one-sidedness"):
        table.add_column(name, justify="left" if name == "method" else "right")
    for room, length, state_coef in VARIANTS:
        settings = GridSettings(runs=runs, state_coef=state_coef, studies=("corridor",))
        result = corridor.run(settings, world=corridor_world(room, length))
        for method, found in result.treasure.items():
            sidedness = result.one_sidedness(method)
            row = (room, length, state_coef, method, found.mean, found.timed_out, sidedness)
            table.add_row(*map(str, row))
        table.add_section()
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
