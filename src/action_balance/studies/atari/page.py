"""The page of ``reproduce atari``, from ``summary.json`` and the figure; ``page.html`` has its text."""

from pathlib import Path

from action_balance.files import Data
from action_balance.studies.atari.campaign import campaign_view, game_title
from action_balance.studies.atari.records import RECENT
from action_balance.studies.atari.settings import COMPARED
from action_balance.studies.page import study_page
from action_balance.web.format import side

#: What the action modes of an evaluation are called.
ACTION_MODES = {"greedy": "most probable action", "sampled": "sampled from π", "behaviour": "sampled from β"}


def atari_page(folder: Path, summary: Data) -> str:
    games, rooms = summary["ours"]["games"], summary["ours"]["rooms"]
    methods = [name for name in COMPARED if any(name in game["methods"] for game in games.values())]
    rows = [row for game in games.values() for row in game["methods"].values()]
    compared = [row["agrees"] for row in rows if row["agrees"] is not None]
    return study_page(
        "atari",
        folder,
        summary,
        campaign=campaign_view(summary),
        games=games,
        titles={game: game_title(game) for game in games},
        methods=methods,
        others=[name for name in methods if any(game["more"].get(name) for game in games.values())],
        against_base={name: found for name in methods if (found := _against_base(games, name))},
        compared=len(compared),
        agreeing=sum(compared),
        unfinished=sum(not row["final"] for row in rows),
        paper=summary["paper"],
        rooms=_rooms(rooms),
        modes={mode: title for mode, title in ACTION_MODES.items() if any(row["mode"] == mode for row in rooms)},
        recent=RECENT,
    )


def _against_base(games: Data, name: str) -> dict[str, list[str]]:
    """The games in which a method scores more than RND or less, and those without a significant difference."""
    where: dict[str, list[str]] = {}
    for game, numbers in games.items():
        if more := numbers["more"].get(name):
            where.setdefault(side(more, 0), []).append(game_title(game))
    return where


def _rooms(rows: list[Data]) -> Data:
    found: Data = {}
    for row in rows:
        found.setdefault(row["game"], {}).setdefault(row["method"], {})[row["mode"]] = row
    return found
