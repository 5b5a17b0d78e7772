"""The page of ``reproduce exploration``, from ``summary.json`` and the figures; ``page.html`` has its text."""

import json
from dataclasses import asdict
from pathlib import Path

from action_balance.config.presets import PRESETS
from action_balance.files import Data
from action_balance.runs.learning_curve import LAST
from action_balance.studies.exploration import screen
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
from action_balance.studies.registry import read_summary
from action_balance.studies.settings_text import command_line, flat
from action_balance.studies.statistics import MIN, RESAMPLES
from action_balance.web.files import read_figures
from action_balance.web.render import render

#: Settings of agents that are not the same for all methods or tasks, or that have no effect.
LEFT_OUT = ("method", "steps", "envs", "image", "host", "preset", "bonus_settings")


def result_page(folder: Path) -> str:
    """The page of a result in a folder."""
    return exploration_page(folder, read_summary(folder))


def exploration_page(folder: Path, summary: Data) -> str:
    """The page of a result."""
    ours, settings = summary["ours"], _settings(summary["settings"])
    used = {TASKS[name].preset for name in ours["tasks"]}
    return render(
        "studies/exploration/page.html",
        ours=ours,
        figures=read_figures(folder),
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
        planned=len(settings.plan()),
        base=BASE,
        paper=PAPER,
        neutral=NEUTRAL,
        enumerating=ENUMERATING,
        last=LAST,
        fewest=MIN,
        resamples=RESAMPLES,
        hyperparameters={name: flat(asdict(PRESETS[name]), without=LEFT_OUT) for name in sorted(used)},
        task_preset={name: task.preset for name, task in TASKS.items()},
        versions=_versions(summary),
        devices=sorted({device for made in summary["made_by"] for device in made["hardware"]["devices"]}),
        command=_command(summary["settings"]),
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


def _settings(data: Data) -> ExplorationSettings:
    """The settings of a summary, in which tuples are lists."""
    given: Data = {name: tuple(one) if isinstance(one, list) else one for name, one in data.items()}
    return ExplorationSettings(**given)


def _command(settings: Data) -> str:
    """The command with the seeds and every setting that is not the default."""
    defaults = json.loads(json.dumps(asdict(ExplorationSettings())))
    return command_line("action-balance reproduce exploration", settings, defaults, always=("scale", "seed"))
