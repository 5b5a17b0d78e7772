"""The page of ``reproduce neural``, from ``summary.json`` and the figures; ``page.html`` has its text."""

import json
from dataclasses import asdict
from pathlib import Path

from action_balance.config.agent import AgentConfig
from action_balance.files import Data
from action_balance.studies.neural.analysis import SOLVED
from action_balance.studies.neural.settings import WORLDS, NeuralSettings
from action_balance.studies.settings_text import command_line, flat
from action_balance.studies.statistics import MIN, RESAMPLES
from action_balance.web.files import read_figures
from action_balance.web.format import ends, side
from action_balance.web.render import render


def neural_page(folder: Path, summary: Data) -> str:
    """The page of a result."""
    ours = summary["ours"]
    settings = {name: value for name, value in summary["settings"].items() if name != "studies"}
    lift = (100 * part for part in ends(ours["counting"]["lift"])) if "counting" in ours else ()
    return render(
        "studies/neural/page.html",
        settings=settings,
        ours=ours,
        worlds=list(WORLDS),
        figures=read_figures(folder),
        lift_points=dict(zip(("value", "low", "high"), lift, strict=False)),
        hyperparameters=flat(asdict(AgentConfig(steps=settings["steps"])), without=("method", "steps")),
        versions=summary["versions"],
        command=_command(settings, ours),
        resamples=RESAMPLES,
        solved=SOLVED,
        claims=_claims(ours),
        fewest=MIN,
    )


def _claims(ours: Data) -> list[Data]:
    """How action balance RND compares with RND in each world, and on which side of no difference the interval lies."""
    found: list[Data] = []
    for study, numbers in ours.items():
        if study == "counting":
            continue
        estimate, neutral = (numbers["more_states"], 0) if study == "open" else (numbers["ratio"], 1)
        if estimate:
            found.append({"study": study, "estimate": estimate, "side": side(estimate, neutral)})
    return found


def _command(settings: Data, ours: Data) -> str:
    """The command with the seeds and every setting that is not the default."""
    defaults = json.loads(json.dumps(asdict(NeuralSettings())))
    chosen = {**settings, "studies": [world for world in WORLDS if world in ours]}
    return command_line("action-balance reproduce neural", chosen, defaults, always=("seeds", "seed"))
