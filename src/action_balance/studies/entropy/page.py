"""The page of ``reproduce entropy``, from ``summary.json`` and the figure; ``page.html`` has its text."""

from pathlib import Path

from action_balance.files import Data
from action_balance.studies.atari.campaign import campaign_view, game_title
from action_balance.studies.entropy.analysis import RESOLUTION
from action_balance.studies.entropy.settings import ACTIONS, GAME
from action_balance.studies.page import study_page
from action_balance.studies.statistics import has_interval
from action_balance.web.format import ends


def entropy_page(folder: Path, summary: Data) -> str:
    ours = summary["ours"]
    compared = [row for row in ours["lower"] if row["which"] == "added" and row["difference"]["value"] is not None]
    below = {name: row["added_below_flat"]["value"] for name, row in ours["variants"].items()}
    return study_page(
        "entropy",
        folder,
        summary,
        campaign=campaign_view(summary),
        game=game_title(GAME),
        actions=ACTIONS,
        resolution=RESOLUTION,
        orders={which: _order(ours["variants"], which) for which in ("added", "bonus")},
        compared=[{**row, "distance": abs(ends(row["difference"])[0])} for row in compared],
        flat=[name for name, value in below.items() if value is not None and abs(value) < RESOLUTION],
        banded=any(has_interval(row["runs"]) for row in ours["variants"].values()),
    )


def _order(variants: Data, which: str) -> dict[str, float]:
    """How far below flat the variants end, from the lowest entropy to the highest; empty if they do not differ."""
    below = {name: row[f"{which}_below_flat"]["value"] for name, row in variants.items()}
    known = {name: value for name, value in below.items() if value is not None}
    if len(known) < 2 or max(known.values()) - min(known.values()) < RESOLUTION:
        return {}
    return dict(sorted(known.items(), key=lambda item: -item[1]))
