"""The figure of the tuning: how long the agents of every trial take."""

from matplotlib import style
from matplotlib.figure import Figure

from action_balance.files import Data
from action_balance.plots import drawing
from action_balance.plots.drawing import COLOURS, INK, MUTED, PAPER, STYLED
from action_balance.studies.bonuses.settings import Setup

#: What the dot of the chosen trial looks like, and the ring of the one that changes nothing.
CHOSEN, UNCHANGED = COLOURS["action-balance"], INK


@style.context(STYLED)
def draw(kinds: Data) -> Figure:
    """Time to solve of every trial, as a share of all steps: a panel for each kind of world, a row for each method."""
    methods = list(dict.fromkeys(name for about in kinds.values() for name in about["methods"]))
    size = (4.6 * len(kinds) + 2.4, 0.27 * len(methods) + 1.5)
    figure, panels = drawing.new_panels(
        "Time to solve of every trial, as a share of all steps", len(kinds), size, len(kinds)
    )
    for number, (axes, (kind, about)) in enumerate(zip(panels, kinds.items(), strict=True)):
        for place, name in enumerate(methods):
            method = about["methods"].get(name, {"trials": [], "chosen": None})
            for row in method["trials"]:
                is_chosen = row["trial"] == method["chosen"]
                axes.plot(
                    row["time"],
                    place,
                    "o",
                    markersize=7 if is_chosen else 4.5,
                    color=CHOSEN if is_chosen else MUTED,
                    alpha=1 if is_chosen else 0.55,
                    markeredgecolor=UNCHANGED if row["trial"] == 0 else PAPER,
                    markeredgewidth=1.2 if row["trial"] == 0 else 0.5,
                    zorder=3 if is_chosen else 2,
                )
        axes.set_yticks(
            range(len(methods)), [Setup.of(name).label for name in methods] if number == 0 else [""] * len(methods)
        )
        axes.set_ylim(len(methods) - 0.4, -0.6)
        axes.set_xlim(0, 1.03)
        axes.tick_params(axis="y", length=0, labelcolor=INK)
        axes.set_title(f"{kind}: {', '.join(about['worlds'])}", loc="left", fontsize=9)
    return figure
