"""The page of ``explore --out``: the methods on a user's own map; ``page.html`` has its text."""

from pathlib import Path

from action_balance.files import Data
from action_balance.printable import printable
from action_balance.studies.grid.player import result_data
from action_balance.studies.registry import read_summary
from action_balance.web.files import read_figures
from action_balance.web.format import as_float, ends
from action_balance.web.render import render


def result_page(folder: Path) -> str:
    """The page of a result."""
    summary = read_summary(folder)
    data = result_data(folder, summary)
    best, certain = most_covered(summary["ours"]["coverage"]["methods"])
    return render(
        "studies/explore/page.html",
        data,
        name=printable(folder.resolve().name),
        settings=summary["settings"],
        coverage=summary["ours"]["coverage"],
        first_reach=summary["ours"].get("first_reach"),
        figures=read_figures(folder),
        best=best,
        certain=certain,
    )


def most_covered(methods: Data) -> tuple[str, bool]:
    """The method that covers the most cells, and whether its interval lies above those of all others."""
    cells = {name: one["final_cells"] for name, one in methods.items()}
    best = max(cells, key=lambda name: as_float(cells[name]["value"]))
    low = ends(cells[best])[1]
    return best, all(low > ends(one)[2] for name, one in cells.items() if name != best)
