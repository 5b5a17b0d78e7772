"""The page of ``reproduce bonuses``, from ``summary.json`` and the figures; ``page.html`` has its text."""

from dataclasses import asdict
from pathlib import Path

from action_balance.config.agent import AgentConfig
from action_balance.files import Data
from action_balance.studies.bonuses import KIND, findings
from action_balance.studies.bonuses.analysis import FACTOR, LEAST_SHARE, RANK, SHOWN
from action_balance.studies.bonuses.settings import (
    ADAPTIVE,
    BASE,
    CONSTANT,
    DISTRACTORS,
    EXACT,
    LABELS,
    MATRIX_WORLD,
    WORLDS,
    BonusesSettings,
    Condition,
    Setup,
)
from action_balance.studies.counting import SMALLEST
from action_balance.studies.page import devices_of, settings_of, study_page
from action_balance.studies.settings_text import command_line, flat, plain
from action_balance.studies.worlds import SOLVED
from action_balance.web.format import as_float, number

#: Settings of agents that are not the same in all worlds, or that have no effect in them.
LEFT_OUT = ("method", "steps", "envs", "minibatches", "image", "host")

NBSP = "\N{NO-BREAK SPACE}"

#: The setup whose adaptive coefficient is shown.
ADAPTED = "rnd+hash"


def result_page(folder: Path, summary: Data) -> str:
    ours, settings = summary["ours"], settings_of(BonusesSettings, summary["settings"])
    compared = findings.effects(ours)
    return study_page(
        "bonuses",
        folder,
        summary,
        best=findings.highlights(ours),
        counters=findings.counters(ours),
        best_within=findings.best_within(ours),
        effects=compared,
        balanced=findings.balanced_best(ours, compared),
        failures=findings.failures(compared),
        planned=len(settings.conditions()),
        missing=findings.missing(settings, ours),
        missing_actions=findings.missing_actions(settings, ours),
        missing_matrix=findings.missing_matrix(settings, ours),
        has_matrix=bool(ours["matrix"]) and len(ours["matrix"]["intrinsics"]) > 1,
        has_constant=any(Setup.of(name).action in CONSTANT for name in compared["actions"]),
        adapted=ADAPTED,
        courses=findings.courses(ours, ADAPTED),
        coefficient=ADAPTIVE,
        target_kl=BonusesSettings().config(Condition(MATRIX_WORLD, Setup.of(ADAPTED))).agent.target_kl,
        setup_label=lambda name: Setup.of(name).label,
        setup_labels=lambda names: [Setup.of(name).label for name in names],
        labels=LABELS,
        label_all=lambda names: [LABELS[name] for name in names],
        titles={name: world.title for name, world in WORLDS.items()},
        title_all=lambda names: [WORLDS[name].title for name in names],
        brief_all=lambda names: [WORLDS[name].brief.replace(" ", NBSP) for name in names],
        ratio=ratio,
        shown=SHOWN,
        base=BASE,
        named=findings.NAMED,
        exact=EXACT,
        distractors=DISTRACTORS,
        least_rank=RANK,
        factor=FACTOR,
        least_share=LEAST_SHARE,
        smallest=SMALLEST,
        hyperparameters=flat(asdict(AgentConfig(method="ppo")), without=LEFT_OUT),
        devices=devices_of(summary),
        command=command_line(
            f"action-balance {KIND}", summary["settings"], plain(BonusesSettings()), always=("scale", "seed")
        ),
        solved=SOLVED,
    )


def ratio(value: float | str | None) -> str:
    """A ratio of counts; beyond a factor of `SHOWN` only that it is beyond."""
    known = as_float(value)
    if known > SHOWN or known < 1 / SHOWN:
        return f"> {number(SHOWN)}" if known > 1 else f"< {1 / SHOWN:g}"
    return number(known, 2 if known >= 0.1 else 3)
