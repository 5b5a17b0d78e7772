"""The page of ``reproduce bonuses``, from ``summary.json`` and the figures; ``page.html`` has its text."""

from dataclasses import asdict
from pathlib import Path

from action_balance.config.agent import AgentConfig
from action_balance.files import Data
from action_balance.studies.bonuses import KIND, findings
from action_balance.studies.bonuses.analysis import FACTOR, LEAST_SHARE, RANK, SHOWN
from action_balance.studies.bonuses.records import EPISODES as GREEDY_EPISODES
from action_balance.studies.bonuses.settings import (
    COEFFICIENTS,
    DISTRACTORS,
    EPISODES,
    KINDS,
    LABELS,
    RANDOM,
    WORLDS,
    BonusesSettings,
    Setup,
)
from action_balance.studies.counting import SMALLEST
from action_balance.studies.page import devices_of, settings_of, study_page
from action_balance.studies.settings_text import command_line, flat, plain
from action_balance.studies.solving import EPISODES as SOLVING_EPISODES
from action_balance.web.format import as_float, number

#: Settings of agents that are not the same in all worlds, or that have no effect in them.
LEFT_OUT = ("method", "steps", "envs", "minibatches", "image", "host")

NBSP = "\N{NO-BREAK SPACE}"


def result_page(folder: Path, summary: Data) -> str:
    ours, settings = summary["ours"], settings_of(BonusesSettings, summary["settings"])
    effects = findings.effects(ours)
    return study_page(
        "bonuses",
        folder,
        summary,
        overview=findings.overview(ours),
        counters=findings.counters(ours),
        best_within=findings.best_within(ours),
        effects=effects,
        leaders={part: findings.leaders(rows) for part, rows in effects.items()},
        planned=len(settings.conditions()),
        missing=findings.missing(settings, ours),
        courses=findings.courses(ours),
        setup_label=lambda name: Setup.of(name).label,
        setup_labels=lambda names: [Setup.of(name).label for name in names],
        base_of=lambda name: Setup.of(name).base.name,
        labels=LABELS,
        label_all=lambda names: [LABELS[name] for name in names],
        titles={name: world.title for name, world in WORLDS.items()},
        presets={name: world.preset for name, world in WORLDS.items()},
        kinds=KINDS,
        title_all=lambda names: [WORLDS[name].title for name in names],
        brief_all=lambda names: [WORLDS[name].brief.replace(" ", NBSP) for name in names],
        brief=lambda name: WORLDS[name].brief,
        ratio=ratio,
        shown=SHOWN,
        distractors=DISTRACTORS,
        least_rank=RANK,
        factor=FACTOR,
        least_share=LEAST_SHARE,
        smallest=SMALLEST,
        episodes=SOLVING_EPISODES,
        seas=findings.seas(ours),
        sea_episodes=EPISODES,
        greedy_episodes=GREEDY_EPISODES,
        changed={
            f"{kind}: {Setup.of(name).label}": changes for kind in KINDS for name, changes in _tuned(kind, ours).items()
        },
        hyperparameters=flat(asdict(AgentConfig()), without=LEFT_OUT),
        devices=devices_of(summary),
        command=command_line(
            f"action-balance {KIND}", summary["settings"], plain(BonusesSettings()), always=("scale", "seed")
        ),
    )


def _tuned(kind: str, ours: Data) -> Data:
    """What the tuning has chosen for each setup of a result, in a kind of world."""
    names = {name for world, about in ours["worth"].items() if WORLDS[world].preset == kind for name in about["setups"]}
    setups = [setup for setup in sorted(map(Setup.of, names), key=lambda one: one.order) if setup.action != RANDOM]
    return {setup.name: setup.tuned(kind) for setup in setups if setup.action not in COEFFICIENTS}


def ratio(value: float | str | None) -> str:
    """A ratio of counts; beyond a factor of `SHOWN` only that it is beyond."""
    known = as_float(value)
    if known > SHOWN or known < 1 / SHOWN:
        return f"> {number(SHOWN)}" if known > 1 else f"< {1 / SHOWN:g}"
    return number(known, 2 if known >= 0.1 else 3)
