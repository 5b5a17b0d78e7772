"""The page of ``explore --out``: the methods on a user's own map."""

import html
from collections.abc import Mapping

from action_balance.files import Data
from action_balance.plots.drawing import NAMES
from action_balance.studies.grid import page
from action_balance.web import markup
from action_balance.web import widgets as player
from action_balance.web.markup import counted, figure, number, stacked, table


def explore_page(summary: Data, svgs: Mapping[str, str], data: Data, name: str) -> str:
    """The whole page.

    Args:
        summary: of the result.
        svgs: its figures by name.
        data: of what moves, see `player.result_data`.
        name: of the folder.
    """
    settings, ours = summary["settings"], summary["ours"]
    methods = html.escape(markup.listed([NAMES.get(one, one) for one in settings["methods"]]))
    coverage = page.coverage_table(ours["coverage"])
    coverage += figure(svgs, "relative_increase", "Coverage relative to random; a dot marks where a mean stays above.")
    coverage += figure(svgs, "final_cells", "Cells covered in the end; each run is a dot.")
    sections = {
        "watch": ("Watch", player.watch_section(data["players"], page.WATCH)),
        "coverage": ("Coverage", f'<section id="coverage"><h2>Coverage</h2>{coverage}</section>\n'),
    }
    if "first_reach" in ours:
        sections["goals"] = (
            "Goals",
            f'<section id="goals"><h2>Goals</h2>{_reach(ours["first_reach"], data)}</section>\n',
        )
    shown = {key: part for key, part in sections.items() if part[1]}
    return markup.document(
        title=f"Action balance: {html.escape(name)}",
        kicker="Action balance &middot; your own map",
        heading=html.escape(name),
        shows=_shows(ours["coverage"]),
        lead=f"{counted(settings['runs'], 'run')} each of {methods}, of {counted(ours['coverage']['steps'], 'step')}; "
        f"{ours['coverage']['reachable_cells']:,} cells can be covered.",
        menu={key: title for key, (title, _) in shown.items()},
        main="".join(content for _, content in shown.values()),
        data=data,
    )


def _shows(ours: Data) -> str:
    """Who covered most, if the interval of one lies above those of all others."""
    cells = {name: one["final_cells"] for name, one in ours["methods"].items()}
    best = max(cells, key=lambda name: markup.as_float(cells[name]["value"]))
    said = f"{html.escape(NAMES.get(best, best))}: {markup.told(cells[best], 1, ' cells')}"
    if len(cells) == 1:
        return f"{said[0].upper()}{said[1:]}."
    low = markup.parts(cells[best])[1]
    if all(low > markup.parts(one)[2] for name, one in cells.items() if name != best):
        return f"Most is covered by {said}."
    return f"These runs do not tell who covers most. Ahead, but not for sure, is {said}."


def _reach(ours: Data, data: Data) -> str:
    rows = [
        [markup.method(name), stacked(one["mean"]), number(one["median"]), number(one["given_up"])]
        for name, one in ours.items()
    ]
    head = ["Method", "Mean steps", "Median", "Given up"]
    return player.reach_place(data["reach"], "reach") + table("Steps until a goal is first reached", head, rows)
