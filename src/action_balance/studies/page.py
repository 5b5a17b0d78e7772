"""What the pages of all studies share."""

from pathlib import Path
from typing import Any, TypeVar

from action_balance.files import Data
from action_balance.runs.learning_curve import LAST
from action_balance.studies.statistics import MIN, RESAMPLES
from action_balance.web.files import read_figures
from action_balance.web.render import render

Settings = TypeVar("Settings")


def study_page(name: str, folder: Path, summary: Data, data: Data | None = None, /, **values: Any) -> str:
    """The page of a result in a folder, from ``studies/NAME/page.html``."""
    shared: Data = {"ours": summary["ours"], "figures": read_figures(folder), "fewest": MIN, "resamples": RESAMPLES}
    return render(f"studies/{name}/page.html", data, **shared, last=LAST, versions=summary["versions"], **values)


def settings_of(kind: type[Settings], data: Data) -> Settings:
    """The settings in a summary, where tuples are lists."""
    return kind(**{name: tuple(one) if isinstance(one, list) else one for name, one in data.items()})


def devices_of(summary: Data) -> list[str]:
    """The devices that trained the runs of a result."""
    return sorted({device for made in summary["made_by"] for device in made["hardware"]["devices"]})
