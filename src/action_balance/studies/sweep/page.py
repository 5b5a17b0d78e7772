"""The page of a sweep, from its ``summary.json``; ``page.html`` has its text."""

from pathlib import Path
from typing import Any

from action_balance.config.train import TrainConfig
from action_balance.files import Data
from action_balance.runs.learning_curve import LAST
from action_balance.studies.statistics import MIN, to_data
from action_balance.studies.sweep import parallel
from action_balance.studies.sweep.settings import BASELINE, PARTS, REDUCTION, RUNGS
from action_balance.studies.sweep.space import Space, shown
from action_balance.studies.sweep.trials import STATUSES, Final, Trial, ranked
from action_balance.studies.sweep.verdict import chosen, digits, sentences, short_names
from action_balance.web.render import render


def result_page(_folder: Path, summary: Data) -> str:
    settings, ours = summary["settings"], summary["ours"]
    space, metric = Space.from_data(settings["space"]), settings["metric"]
    trials = [Trial.from_data(one) for one in ours["trials"]]
    finals = [Final.from_data(one) for one in ours["finals"]]
    base = TrainConfig.for_display(settings["base"])
    preferred = chosen(finals)
    return render(
        "studies/sweep/page.html",
        sentences=list(sentences(finals, space, metric)),
        metric=metric,
        environment=base.env.title,
        method=base.agent.label,
        seeds=base.seeds,
        fresh=settings["final_seeds"],
        first_fresh=base.seed + base.seeds,
        names=short_names(space),
        axes=[{"name": axis.name, "values": str(axis)} for axis in space.axes],
        trials=_rows(trials, space),
        counts={status: sum(one.status == status for one in trials) for status in STATUSES},
        planned=summary["planned"]["trials"],
        drawing=parallel.draw(trials, space, metric),
        finals=_finals(finals, space),
        preferred=None if preferred is None else preferred.name,
        digits=digits(finals),
        early_stopping=settings["early_stopping"],
        rungs=[part / PARTS for part in RUNGS],
        reduction=REDUCTION,
        fewest=MIN,
        last=LAST,
        baseline=BASELINE,
        **parallel.SIZES,
        command=summary["command"],
        versions=summary["versions"],
    )


def _rows(trials: list[Trial], space: Space) -> list[Data]:
    """The trials as the table shows them: the best first, then those without a rank."""
    order = ranked(trials)
    shows = [*((one, place) for place, one in enumerate(order, start=1)), *((one, 0) for one in trials)]
    return [
        {**vars(one), "rank": rank, "values": _values(one.values, space)}
        for one, rank in shows
        if rank or one not in order
    ]


def _finals(finals: list[Final], space: Space) -> list[Data]:
    base = next((one for one in finals if one.name == BASELINE), None)
    return [
        {
            **vars(one),
            "values": _values(one.values, space),
            "seeds": len(one.scores),
            "mean": to_data(one.mean) if one.is_known else None,
            "difference": to_data(one.more_than(base)) if base and one is not base and one.is_known else None,
        }
        for one in finals
    ]


def _values(values: Any, space: Space) -> list[str]:
    """Values in the order of the settings; empty where nothing is changed."""
    return [shown(values[name]) for name in space.names if name in values]
