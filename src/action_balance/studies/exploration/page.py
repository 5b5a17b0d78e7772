"""The page of ``reproduce exploration``, from ``summary.json`` and the figures; ``page.html`` has its text."""

from dataclasses import asdict
from pathlib import Path

from action_balance.config.presets import PRESETS
from action_balance.files import Data
from action_balance.studies.exploration import KIND, screen
from action_balance.studies.exploration.analysis import NEUTRAL, missing
from action_balance.studies.exploration.settings import (
    BALANCED,
    BASE,
    ENUMERATING,
    METHODS,
    PAPER,
    TASKS,
    ExplorationSettings,
    label,
)
from action_balance.studies.page import devices_of, settings_of, study_page
from action_balance.studies.settings_text import command_line, flat, plain

#: Settings of agents that are not the same for all methods or tasks, or that have no effect.
LEFT_OUT = ("method", "steps", "envs", "image", "host", "preset", "bonus_settings")


def result_page(folder: Path, summary: Data) -> str:
    ours, settings = summary["ours"], settings_of(ExplorationSettings, summary["settings"])
    used = {TASKS[name].preset for name in ours["tasks"]}
    return study_page(
        "exploration",
        folder,
        summary,
        sentences=list(screen.sentences(ours)),
        label=label,
        label_all=lambda names: [label(name) for name in names],
        rows={row["method"]: row for row in ours["ranking"]},
        shown=[name for name in METHODS if any(name in task["methods"] for task in ours["tasks"].values())],
        kind=_kind,
        titles={name: task.title for name, task in TASKS.items()},
        title_all=lambda names: [TASKS[name].title for name in names],
        notes={name: task.note for name, task in TASKS.items()},
        missing=missing(settings, ours),
        planned=len(settings.conditions()),
        base=BASE,
        paper=PAPER,
        neutral=NEUTRAL,
        enumerating=ENUMERATING,
        hyperparameters={name: flat(asdict(PRESETS[name]), without=LEFT_OUT) for name in sorted(used)},
        task_preset={name: task.preset for name, task in TASKS.items()},
        trained_with=_versions(summary),
        devices=devices_of(summary),
        command=command_line(
            f"action-balance {KIND}", summary["settings"], plain(ExplorationSettings()), always=("scale", "seed")
        ),
    )


def _kind(method: str) -> str:
    """The method of the package whose colour stands for a group of methods, as in the figure of the leaderboard."""
    return "action-balance-rnd" if method in BALANCED else "rnd" if method == BASE else "action-balance"


def _versions(summary: Data) -> Data:
    """The versions of the packages that trained the agents, all of them where they differ."""
    found: dict[str, list[str]] = {}
    for made in summary["made_by"]:
        for name, version in made["versions"].items():
            if version is not None and str(version) not in found.setdefault(name, []):
                found[name].append(str(version))
    return {name: ", ".join(versions) for name, versions in found.items()}
