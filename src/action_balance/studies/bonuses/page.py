"""The page of ``reproduce bonuses``, from ``summary.json`` and the figures; ``page.html`` has its text."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from action_balance.config.agent import AgentConfig
from action_balance.config.methods import NONE
from action_balance.files import Data
from action_balance.studies.bonuses.analysis import FACTOR, LEAST_SHARE, RANK, is_action, is_next_state
from action_balance.studies.bonuses.counting import SMALLEST
from action_balance.studies.bonuses.records import STATES
from action_balance.studies.bonuses.settings import (
    BASE,
    BASELINES,
    DISTRACTORS,
    EXACT,
    LABELS,
    MATRIX_WORLD,
    RANDOM,
    WORLDS,
    BonusesSettings,
    Setup,
)
from action_balance.studies.neural.analysis import SOLVED
from action_balance.studies.registry import read_summary
from action_balance.studies.settings_text import command_line, flat
from action_balance.studies.statistics import RESAMPLES
from action_balance.web.files import read_figures
from action_balance.web.format import as_float
from action_balance.web.render import render

#: Settings of agents that are not the same in all worlds, or that have no effect in them.
LEFT_OUT = ("method", "steps", "envs", "minibatches", "image", "host")

#: The world of the headline: the first of these that has agents.
HEADLINE = ("deep-sea-14", "deep-sea-10")


def result_page(folder: Path) -> str:
    """The page of a result in a folder."""
    return bonuses_page(folder, read_summary(folder))


def bonuses_page(folder: Path, summary: Data) -> str:
    """The page of a result.

    Args:
        folder: the result's.
        summary: its ``summary.json``, written or not.

    Returns:
        The text of ``report.html``.
    """
    ours = summary["ours"]
    return render(
        "studies/bonuses/page.html",
        ours=ours,
        figures=read_figures(folder),
        best=highlights(ours),
        effects=effects(ours),
        setup_label=lambda name: Setup.of(name).label,
        labels=LABELS,
        label_all=lambda names: [LABELS[name] for name in names],
        titles={name: world.title for name, world in WORLDS.items()},
        base=BASE,
        exact=EXACT,
        distractors=DISTRACTORS,
        least_rank=RANK,
        factor=FACTOR,
        least_share=LEAST_SHARE,
        smallest=SMALLEST,
        hyperparameters=flat(asdict(AgentConfig(method="ppo")), without=LEFT_OUT),
        versions=summary["versions"],
        devices=sorted({device for made in summary["made_by"] for device in made["hardware"]["devices"]}),
        command=_command(summary["settings"]),
        resamples=RESAMPLES,
        solved=SOLVED,
    )


def highlights(ours: Data) -> Data:
    """The best bonus that does not enumerate states, in each of the three questions; None without an answer."""
    worlds, counting = ours["worth"], ours["counting"]
    found: Data = {"counter": None, "next_state": None, "action": None}
    world = next((name for name, kinds in counting.items() if kinds.get(STATES, {}).keys() - {EXACT}), None)
    if world is not None:
        bonuses = {name: one for name, one in counting[world][STATES].items() if name != EXACT}
        name = max(bonuses, key=lambda one: (bonuses[one]["counts"], as_float(bonuses[one]["rank"][-1]["value"])))
        found["counter"] = {"world": world, "name": name, **bonuses[name]}
    world = next((name for name in HEADLINE if name in worlds), None)
    others = {NONE, BASE, EXACT, RANDOM, *BASELINES}
    if world is not None:
        found["next_state"] = _best(
            worlds[world],
            world,
            lambda one: is_next_state(one) and one["intrinsic"] not in others,
            lambda one: (one["solved"], one["found"]),
        )
    if MATRIX_WORLD in worlds and BASE in worlds[MATRIX_WORLD]["setups"]:
        found["action"] = _best(
            worlds[MATRIX_WORLD],
            MATRIX_WORLD,
            lambda one: is_action(one) and one["action"] not in others,
            lambda one: (as_float(one["sooner"]["value"]), 0),
        )
    return found


def _best(
    about: Data, world: str, belongs: Callable[[Data], bool], value: Callable[[Data], tuple[float, float]]
) -> Data | None:
    setups = {name: one for name, one in about["setups"].items() if belongs(one)}
    if not setups:
        return None
    name = max(setups, key=lambda one: value(setups[one]))
    return {"world": world, "name": name, "of": len(setups), **setups[name]}


def effects(ours: Data) -> Data:
    """In which worlds each setup is better than RND alone, no different, or worse, by part and name."""
    found: Data = {}
    for part in ("next_state", "actions"):
        rows: Data = {}
        for world, sides in ours["verdict"][part].items():
            for where, names in sides.items():
                for name in names:
                    empty: Data = {one: [] for one in sides}
                    rows.setdefault(name, empty)[where].append(WORLDS[world].title)
        found[part] = rows
    return found


def _command(settings: Data) -> str:
    """The command with the seeds and every setting that is not the default."""
    defaults = json.loads(json.dumps(asdict(BonusesSettings())))
    return command_line("action-balance reproduce bonuses", settings, defaults, always=("scale", "seed"))
