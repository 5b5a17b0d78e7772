"""``reproduce entropy``: train what is missing, and tell how flat the action bonus is (the paper's Figure 7)."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.runs.study_results import StudyFolder
from action_balance.studies import campaign_page as runs_page
from action_balance.studies import campaign_screen as campaign
from action_balance.studies import statistics
from action_balance.studies.atari.analysis import TABLE_2_RUNS
from action_balance.studies.entropy import KIND
from action_balance.studies.entropy import analysis as entropy
from action_balance.studies.entropy.analysis import (
    FLAT,
    GAME,
    RESOLUTION,
    VARIANTS,
    EntropySettings,
    Variant,
    Which,
    variants,
)
from action_balance.studies.grid.summary import Data, describe_estimate, estimate
from action_balance.studies.records import Record, common_settings

WHICH: tuple[Which, ...] = ("added", "bonus")


def reproduce_entropy(
    settings: EntropySettings, out: Path, report_only: bool, overwrite: bool, console: Console
) -> None:
    """Run what the folder does not have yet.

    Args:
        settings: of the study.
        out: its folder.
        report_only: train nothing, only write the report.
        overwrite: delete what is there and begin anew.
        console: the screen.
    """

    def write(folder: StudyFolder, records: list[Record], notes: list[str]) -> None:
        asked = runs_page.planned(settings, folder.before, records) if report_only else settings
        _write(folder, records, notes, asked)

    campaign.reproduce(KIND, settings.plan, belongs, out, report_only, overwrite, console, write)
    _conclude(StudyFolder.read(out), console)


def belongs(config: TrainConfig) -> bool:
    """Whether a run is one of those that are compared."""
    agent = config.agent
    return config.env.game == GAME and (agent.method, agent.bonus.normalize) in VARIANTS.values()


def _write(folder: StudyFolder, records: list[Record], notes: list[str], settings: EntropySettings) -> None:
    """Tables, figure and page of the runs that are there."""
    from action_balance.plots import drawing
    from action_balance.studies.entropy import figures as entropy_figures
    from action_balance.studies.entropy import page as entropy_page

    common = common_settings(records)
    # a report alone is not asked for with the settings of its runs
    settings = replace(settings, training=settings.training.as_made(records[0].config.agent))
    found = variants(records)
    runs = [runs_page.run_data(run) for variant in found for run in variant.runs]
    finished = [len(variant.finished) for variant in found]
    folder.summary |= {
        "settings": common,
        "asked": runs_page.asked_for(settings),
        **runs_page.command(KIND, settings, EntropySettings(), records),
        "deviations": runs_page.deviations(records, finished, TABLE_2_RUNS),
        "notes": notes,
        "runs": runs,
        "ours": {
            "flat": FLAT,
            "variants": {variant.name: _numbers(variant) for variant in found},
            "lower": _lower(found),
        },
    }
    folder.write_csv("runs.csv", runs_page.RUN_COLUMNS, runs_page.run_rows(runs))
    _write_tables(folder, found)
    drawing.save(entropy_figures.entropy(found), folder.figures, "entropy")
    folder.write("report.html", entropy_page.entropy_page(folder.path, folder.summary).encode())
    folder.save()


def _numbers(variant: Variant) -> Data:
    finals = {which: variant.finals(which) for which in WHICH}
    return {
        "runs": len(variant.used),
        "finished": len(variant.finished),
        "updates": len(variant.steps),
        **{which: estimate(statistics.mean(values)) for which, values in finals.items()},
        **{f"{which}_below_flat": estimate(statistics.mean(FLAT - values)) for which, values in finals.items()},
    }


def _lower(found: Sequence[Variant]) -> list[Data]:
    """Each variant beside the one before it in the paper's order, which the paper says is less flat."""
    rows = []
    for before, after in pairwise(found):
        for which in WHICH:
            rows.append(
                {
                    "variant": after.name,
                    "than": before.name,
                    "which": which,
                    "difference": estimate(entropy.difference(after, before, which)),
                    "share_below": after.share_below(before, which),
                    "runs": min(len(before.used), len(after.used)),
                }
            )
    return rows


def _write_tables(folder: StudyFolder, found: Sequence[Variant]) -> None:
    """Final entropies, and the curves as they are drawn: means of stretches of updates."""
    from action_balance.studies.entropy.figures import binned

    finals, rows = [], []
    for variant in found:
        for which in WHICH:
            final = statistics.mean(variant.finals(which))
            values = (float(f"{part:.8g}") for part in (final.value, final.low, final.high))
            finals.append((variant.name, which, *values, len(variant.used)))
            updates, means = binned(variant.values(which))
            half = statistics.half_width(means)
            for update, mean, width in zip(updates, means.mean(axis=0), half, strict=True):
                parts = (float(f"{part:.8g}") for part in (mean, mean - width, mean + width))
                rows.append((variant.name, which, float(update), *parts))
    folder.write_csv("entropy.csv", ("variant", "entropy", "mean", "low", "high", "runs"), finals)
    folder.write_csv("entropy_curves.csv", ("variant", "entropy", "update", "mean", "low", "high"), rows)


def _conclude(folder: StudyFolder, console: Console) -> None:
    """The last lines: where everything is, and the headline numbers."""
    ours = folder.summary["ours"]
    lines = [f"open {folder.path / 'report.html'} in a browser", f"entropy, {ours['flat']:.4f} for a flat vector:"]
    for name, row in ours["variants"].items():
        added, shares = (_told(row, which) for which in WHICH)
        lines.append(f"  {name}: {added} (shares {shares})")
    for line in lines:
        console.print(line, highlight=False, soft_wrap=True)


def _told(row: Data, which: str) -> str:
    below = row[f"{which}_below_flat"]["value"]
    if below is None:
        return "not recorded"
    return f"{describe_estimate(row[which], 4)}, {0 if abs(below) < RESOLUTION else below:.2g} below"
