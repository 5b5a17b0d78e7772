"""``reproduce entropy``: train what is missing, and report how flat the action bonus is (the paper's Figure 7)."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.console import Console

from action_balance.config.train import TrainConfig
from action_balance.envs.atari.config import PREFIX, AtariConfig
from action_balance.files import Data
from action_balance.studies import statistics
from action_balance.studies.atari import campaign
from action_balance.studies.atari.records import AtariRecord
from action_balance.studies.atari.training import run_name
from action_balance.studies.entropy import KIND, analysis, figures, page
from action_balance.studies.entropy.analysis import RESOLUTION, Variant, Which, variants
from action_balance.studies.entropy.settings import FLAT, GAME, VARIANTS, EntropySettings
from action_balance.studies.runner import Findings, Study
from action_balance.studies.verdict_text import SIGNIFICANCE, with_interval, wrapped
from action_balance.terminal.console import say
from action_balance.web.format import capitalized, side

WHICH: tuple[Which, ...] = ("added", "bonus")


def _belongs(name: str, config: TrainConfig) -> bool:
    agent, is_run = config.agent, config.seeds == 1 and name == run_name(config)
    compared = (agent.method, agent.normalize) in VARIANTS.values()
    return is_run and config.env == AtariConfig(f"{PREFIX}{GAME}") and compared


def _analyse(
    settings: EntropySettings, records: Sequence[AtariRecord], notes: Sequence[str], before: Data | None
) -> Findings:
    found = variants(records)
    ours = {
        "flat": FLAT,
        "variants": {variant.name: _numbers(variant) for variant in found},
        "lower": list(_lower(found)),
    }
    pairs = [(variant, which) for variant in found for which in WHICH]
    columns = ("mean", "low", "high")
    tables = {
        "entropy.csv": (("variant", "entropy", *columns, "runs"), (_final_row(*pair) for pair in pairs)),
        "entropy_curves.csv": (
            ("variant", "entropy", "update", *columns),
            (row for pair in pairs for row in _curve_rows(*pair)),
        ),
    }
    drawn = {"entropy": figures.entropy(found)}
    return campaign.findings(KIND, settings, before, [one.runs for one in found], notes, ours, tables, drawn)


def _numbers(variant: Variant) -> Data:
    finals = {which: variant.finals(which) for which in WHICH}
    below = {f"{which}_below_flat": FLAT - values for which, values in finals.items()}
    return {
        "runs": len(variant.used),
        "finished": len(variant.finished),
        "updates": len(variant.steps),
        **{name: statistics.to_data(statistics.mean(values)) for name, values in (finals | below).items()},
    }


def _lower(found: Sequence[Variant]) -> Iterator[Data]:
    """Each variant beside the previous one in the paper's order, which the paper says is flatter."""
    for before, after in pairwise(found):
        for which in WHICH:
            yield {
                "variant": after.name,
                "than": before.name,
                "which": which,
                "difference": statistics.to_data(analysis.difference(after, before, which)),
                "share_below": after.share_below(before, which),
                "runs": min(len(before.used), len(after.used)),
            }


def _final_row(variant: Variant, which: Which) -> tuple[object, ...]:
    final = statistics.mean(variant.finals(which))
    return (variant.name, which, *statistics.rounded(*final.parts, digits=8), len(variant.used))


def _curve_rows(variant: Variant, which: Which) -> Iterator[tuple[object, ...]]:
    """The curve as it is drawn: means of stretches of updates."""
    updates, means = figures.binned(variant.values(which))
    for update, *band in zip(updates, *statistics.mean_band(means), strict=True):
        yield (variant.name, which, float(update), *statistics.rounded(*band, digits=8))


def _conclude(summary: Data, console: Console) -> None:
    say(console, *_conclusions(summary["ours"]))


def _conclusions(ours: Data) -> Iterator[str]:
    for row in ours["lower"]:
        if row["which"] == "added" and row["difference"]["value"] is not None:
            yield from wrapped(_compared(row))
    yield f"entropy ({ours['flat']:.4f} for a flat vector):"
    for name, row in ours["variants"].items():
        added, shares = (_described(row, which) for which in WHICH)
        yield f"  {name}: {added} (shares {shares})"


def _compared(row: Data) -> str:
    """Whether a variant is less flat than the one before, which is what the paper reports."""
    value, both = row["difference"]["value"], f"{row['variant']} and {row['than']}"
    if abs(value) < RESOLUTION:
        return f"The entropies of {both} do not differ beyond rounding."
    text = f"{with_interval(row['difference'], '+.2g')}{SIGNIFICANCE[side(row['difference'], 0)]}"
    lower = "lower" if value < 0 else "higher"
    return f"{capitalized(row['variant'])} ends with a {lower} entropy than {row['than']}: {text}"


def _described(row: Data, which: str) -> str:
    below = row[f"{which}_below_flat"]["value"]
    if below is None:
        return "not recorded"
    return f"{statistics.describe(row[which], 4)}, {0 if abs(below) < RESOLUTION else below:.2g} below"


STUDY = Study(
    kind=KIND,
    record=AtariRecord,
    belongs=_belongs,
    analyse=_analyse,
    page=page.entropy_page,
    conclude=_conclude,
    unfinished=True,
)
