"""The page of ``reproduce neural``, from ``summary.json`` and the figures; ``page.html`` has its text."""

from dataclasses import asdict
from pathlib import Path

from action_balance.config.agent import AgentConfig
from action_balance.files import Data
from action_balance.studies.neural import KIND
from action_balance.studies.neural.settings import WORLDS, NeuralSettings
from action_balance.studies.page import study_page
from action_balance.studies.settings_text import command_line, flat, plain
from action_balance.studies.worlds import SOLVED
from action_balance.web.format import ends, side


def neural_page(folder: Path, summary: Data) -> str:
    ours = summary["ours"]
    settings = {name: value for name, value in summary["settings"].items() if name != "studies"}
    lift = (100 * part for part in ends(ours["counting"]["lift"])) if "counting" in ours else ()
    chosen = {**settings, "studies": [world for world in WORLDS if world in ours]}
    return study_page(
        "neural",
        folder,
        summary,
        settings=settings,
        worlds=chosen["studies"],
        lift_points=dict(zip(("value", "low", "high"), lift, strict=False)),
        hyperparameters=flat(asdict(AgentConfig(steps=settings["steps"])), without=("method", "steps")),
        presets={name: world.preset for name, world in WORLDS.items()},
        command=command_line(f"action-balance {KIND}", chosen, plain(NeuralSettings()), always=("seeds", "seed")),
        solved=SOLVED,
        claims=_claims(ours),
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
